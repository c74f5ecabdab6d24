"""All that the reports are made from, read once: settings, stored scores, and the paper's printed numbers.

    params.yaml  tasks/results/paper.yaml  tasks/results/published.yaml
    reports/scores/E.json  reports/sweeps/E.json  reports/attention/E.json  reports/failures/score@E.json
    reports/comparisons/*.json  reports/layers/measured.json

A score file holds everything the reports need of an experiment, so that a fresh clone can redraw them.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tasks.common.noted import without_hash
from tasks.common.paths import MEASURED, REPORTS
from tasks.common.settings import Params, read_params
from tasks.results.curves import with_columns
from transformer.io.errors import InputError
from transformer.io.files import read_json

PAPER = Path(__file__).with_name("paper.yaml")
PUBLISHED = Path(__file__).with_name("published.yaml")

Scores = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Results:
    """What was set, what was measured, and what others have printed."""

    params: Params
    scores: Scores
    """Of each experiment that was measured, in the order of params.yaml."""
    failures: dict[str, dict[str, Any]]
    """Of each experiment that lacks scores, or newer ones, because a stage failed: stage, error, date."""
    sweeps: dict[str, dict[str, Any]]
    """Of each experiment whose averaging and search were varied."""
    layers: dict[str, Any] | None
    """Time and memory of single layers, for Table 1; None if not measured."""
    comparisons: list[dict[str, Any]]
    """Of pairs of experiments, by `python -m tasks.compare`."""
    paper: dict[str, Any]
    published: dict[str, Any]
    attention: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each experiment whose model was watched with a sentence, in the order of params.yaml's `attention`."""

    def only(self, names: Collection[str]) -> "Results":
        """The same with no other experiments than these."""
        scores = {name: score for name, score in self.scores.items() if name in names}
        return replace(self, params=self.params.only(names), scores=scores)

    @property
    def parsing(self) -> "Results":
        """The experiments whose target is trees."""
        return self.only(self._parsers())

    @property
    def translation(self) -> "Results":
        """The others, without those that are rows of Table 3 and no more: base and big are more."""
        return self.only(self.params.experiments.keys() - self._parsers() - self.params.variations)

    def _parsers(self) -> set[str]:
        params = self.params
        return {name for name, one in params.experiments.items() if params.corpora[one.corpus].text.trees}


def read_results() -> Results:
    """Read all; InputError names a file that an older version wrote, or that is damaged."""
    params = read_params()
    names = list(params.experiments)
    return Results(
        params=params,
        scores=_read(names, lambda name: REPORTS / "scores" / f"{name}.json", read_scores),
        failures=_read(
            names, lambda name: REPORTS / "failures" / f"score@{name}.json", _with("stage", "error", "date")
        ),
        sweeps=_read(names, lambda name: REPORTS / "sweeps" / f"{name}.json", _with("averaging", "search", "own")),
        layers=_with("settings", "points", "machine", "commit", "date")(MEASURED) if MEASURED.exists() else None,
        comparisons=[
            _with("experiment", "baseline", "metrics")(path)
            for path in sorted((REPORTS / "comparisons").glob("*.json"))
        ],
        paper=yaml.safe_load(PAPER.read_text(encoding="utf-8")),
        published=yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")),
        attention=_read(
            list(params.attention),
            lambda name: REPORTS / "attention" / f"{name}.json",
            _with("encoder", "decoder", "cross", "layer"),
        ),
    )


def _read(names: list[str], path: Callable[[str], Path], read: Callable[[Path], Any]) -> dict[str, Any]:
    return {name: read(path(name)) for name in names if path(name).exists()}


def _with(*keys: str) -> Callable[[Path], dict[str, Any]]:
    """Reads a JSON file that must have these keys."""

    def read(path: Path) -> dict[str, Any]:
        found = read_json(path)
        for key in keys:
            if not isinstance(found, dict) or key not in found:
                raise InputError(f"{path}: damaged, has no {key!r}; `git checkout {path}` brings it back, or delete it")
        return dict(found)

    return read


def read_scores(path: Path) -> dict[str, Any]:
    """A score file; InputError if it is another experiment's, damaged or by an older version, without what is shown."""
    score = without_hash(path, _with("corpus", "scores", "search", "splits", "speed", "ours", "training")(path))
    name, scored = path.stem, score["training"].get("experiment")
    if scored != name:
        raise InputError(f"{path}: has the scores of {scored}, not of {name}; delete it, or give it that name")
    test = score["scores"].get("test", {})
    if not {"bleu_paper", "f1"} & test.keys() or "perplexity" not in score["splits"].get("test", {}):
        raise InputError(
            f"{path}: written by an older version, without scores that the reports show; delete it, or run "
            f"`dvc repro --force --single-item translate@{name} score@{name}`"
        )
    return {**score, "training": with_columns(score["training"])}
