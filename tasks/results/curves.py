"""Learning curves as columns, as score files have them: {"training": {"update": [...], "perplexity": [...]}, ...}.

A training's own record (training.json) has a point for each line of its log, with all that was measured there.
"""

from typing import Any

DIGITS = 5  # that count, of a perplexity
_KEYS = {"training": "perplexity", "valid": "valid_perplexity"}

Curves = dict[str, dict[str, list[Any]]]


def with_columns(training: dict[str, Any]) -> dict[str, Any]:
    """The record of a training with its curves as columns; one that has them already, as it is."""
    points = training.get("curve")
    return {**training, "curve": _columns(points)} if isinstance(points, list) else training


def _columns(points: list[dict[str, Any]]) -> Curves:
    """The perplexities per sub-word, on what was trained on and on the valid split."""
    found = {}
    for name, key in _KEYS.items():
        there = [point for point in points if key in point]
        numbers = [float(f"{point[key]:.{DIGITS}g}") for point in there]
        found[name] = {"update": [point["update"] for point in there], "perplexity": numbers}
    return found
