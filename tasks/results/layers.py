"""What the stage `layers` measured, by layer and size: reports/layers/measured.json."""

from typing import Any

Layers = dict[str, Any]  # reports/layers/measured.json
Points = list[dict[str, Any]]

AXES = {"n": "width", "d": "length"}  # what is measured over, and the setting that says what is held fixed meanwhile


def line(layers: Layers, layer: str, axis: str) -> Points:
    """A layer's points over one axis, the other held at its fixed size; by size."""
    at = layers["settings"][AXES[axis]]
    found = [point for point in layers["points"] if point["layer"] == layer and point[other(axis)] == at]
    return sorted(found, key=lambda point: int(point[axis]))


def names(layers: Layers) -> list[str]:
    """Of all layers, in the order of their measurement."""
    return list(dict.fromkeys(point["layer"] for point in layers["points"]))


def other(axis: str) -> str:
    """The size that is held fixed while `axis` is measured over."""
    return "d" if axis == "n" else "n"
