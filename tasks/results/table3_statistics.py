"""What the trainings of Table 3's rows gave, and how much of a row's difference to base is more than luck.

For the page (tasks/pages/table3.py) and its figure (tasks/figures/table3.py).
"""

import math
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np

from tasks.common.settings import Experiment
from tasks.common.table3_rows import ROWS
from tasks.results.stored import Results

SIZES = {"table3": "At the paper's size", "table3-tiny": "At laptop size"}
PERPLEXITY, BLEU = "perplexity", "bleu_paper"  # what is compared with the paper's: fields of `Measured`
CONFIDENCE = 0.95  # that all intervals of a column hold at once
FEWEST = 5  # degrees of freedom of an interval: with fewer it is wider than what it is about


@dataclass(frozen=True)
class Measured:
    """One training, as the paper's Table 3 gives it: of its last weights, not averaged, on the valid split.

    Scores are None where only averaged weights were translated with, and no sweep has the last ones.
    """

    seed: int
    perplexity: float | None
    """Per sub-word."""
    bleu: float | None
    """sacreBLEU."""
    bleu_paper: float | None
    """The paper's way: tokenised, compounds split."""
    parameters: int


@dataclass(frozen=True)
class Variation:
    """A row: its experiments in params.yaml, one a seed, and what those gave that have run."""

    row: str
    names: list[str]
    measured: dict[str, Measured]
    outdated: list[str] = field(default_factory=list)
    """Those whose scores are of other settings than params.yaml has today; they count as not measured."""

    def by_seed(self, score: str) -> dict[int, float]:
        """What each seed gave that has this score: a field of `Measured`. No mean is over one that is infinite."""
        found = {one.seed: getattr(one, score) for one in self.measured.values()}
        return {seed: value for seed, value in found.items() if value is not None and math.isfinite(value)}

    def values(self, score: str) -> list[float]:
        """The same without the seeds."""
        return list(self.by_seed(score).values())


@dataclass(frozen=True)
class Difference:
    """Of a row to base: the mean over the seeds that both were trained with, and the interval in which it lies."""

    value: float
    seeds: int
    same_sign: int
    """In how many of these seeds the difference has the sign of the mean."""
    low: float | None
    high: float | None
    """None where there are too few seeds to tell luck from the rest."""

    @property
    def may_be_luck(self) -> bool:
        """Whether the interval has both signs."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high


def variations(results: Results, table: str) -> list[Variation]:
    """All rows of a table ("table3" or "table3-tiny") in the paper's order, also such as have no experiment."""
    names: dict[str, list[str]] = {row: [] for row in ROWS}
    for name, experiment in results.params.experiments.items():
        if experiment.table == table and experiment.row:
            names[experiment.row].append(name)
    return [_variation(results, row, of_row) for row, of_row in names.items()]


def _variation(results: Results, row: str, names: list[str]) -> Variation:
    scored = [name for name in names if name in results.scores]
    outdated = [
        name for name in scored if not _as_set(results.params.experiments[name], results.scores[name]["training"])
    ]
    measured = {name: _measured(results, name) for name in scored if name not in outdated}
    return Variation(row, names, measured, outdated)


def _as_set(experiment: Experiment, training: dict[str, Any]) -> bool:
    """Whether a training had the settings of params.yaml; one that is younger than the training has its default."""
    return all(
        {**settings, **done} == settings
        for settings, done in (
            (experiment.model.model_dump(), training["model"]),
            (experiment.training.model_dump(), training["training"]),
        )
    )


def _measured(results: Results, name: str) -> Measured:
    """What an experiment gave; where its scores are of averaged weights, what a sweep of this training has."""
    score = results.scores[name]
    training, valid = score["training"], score["scores"]["valid"]
    seed, parameters = training["training"]["seed"], training["parameters"]
    if len(training["averaged_updates"]) == 1:
        perplexity = score["splits"]["valid"]["perplexity"]["per_subword"]
        return Measured(seed, perplexity, valid["bleu"]["score"], valid["bleu_paper"]["score"], parameters)
    sweep = results.sweeps.get(name)
    for window in sweep["averaging"] if sweep and sweep["training"]["date"] == training["date"] else []:
        if window["last"] == 1:
            return Measured(seed, window["perplexity"], window["bleu"], window["bleu_paper"], parameters)
    return Measured(seed, None, None, None, parameters)


def found_differences(rows: list[Variation], score: str) -> dict[str, Difference]:
    """Of each row that was measured, to base; of the logarithm of a perplexity."""
    return differences({row.row: compared(row, score) for row in rows})


def compared(row: Variation, score: str) -> dict[int, float]:
    """The values that are compared, by seed."""
    values = row.by_seed(score)
    return {seed: math.log(value) for seed, value in values.items()} if score == PERPLEXITY else values


def papers_difference(paper: dict[str, Any], row: str, score: str) -> float:
    """Of what is printed for a row to what is printed for base; of logarithms of perplexities."""
    if score == PERPLEXITY:
        return math.log(paper[row]["perplexity"] / paper["base"]["perplexity"])
    return round(float(paper[row]["bleu"] - paper["base"]["bleu"]), 1)


def differences(values: dict[str, dict[int, float]]) -> dict[str, Difference]:
    """Of each row that shares a seed with base; `values` are by row and seed.

    With n seeds shared, the standard error of a mean difference is s √(2 / n), s that of `residual`; Student's t at
    95% for all rows at once by Bonferroni's inequality makes it an interval.
    """
    base = values.get("base", {})
    by_row = {
        row: [value - base[seed] for seed, value in found.items() if seed in base]
        for row, found in values.items()
        if row != "base"
    }
    by_row = {row: found for row, found in by_row.items() if found}
    deviation, freedom = residual(values)
    margin = _quantile(len(by_row), freedom) * deviation if by_row and freedom >= FEWEST else None
    return {row: _difference(found, margin) for row, found in by_row.items()}


def _difference(by_seed: list[float], margin: float | None) -> Difference:
    value, n = mean(by_seed), len(by_seed)
    half = None if margin is None else margin * math.sqrt(2 / n)
    return Difference(
        value,
        seeds=n,
        same_sign=sum(one * value > 0 for one in by_seed),
        low=None if half is None else value - half,
        high=None if half is None else value + half,
    )


def _quantile(comparisons: int, freedom: int) -> float:
    from scipy.stats import t  # a second to import

    return float(t.ppf(1 - (1 - CONFIDENCE) / (2 * comparisons), freedom))


def residual(values: dict[str, dict[int, float]]) -> tuple[float, int]:
    """The standard deviation of what is left of value = row + seed, by least squares, and its degrees of freedom.

    A randomised block design: the seed, which all rows share, is the block. `values` are by row and seed; any may be
    missing. Where no freedom is left, the deviation is not a number.
    """
    seeds = sorted({seed for found in values.values() for seed in found})
    points = [(row, seed, value) for row, found in values.items() for seed, value in found.items()]
    if not points:
        return math.nan, 0
    design = np.array([[*(row == one for one in values), *(seed == one for one in seeds)] for row, seed, _ in points])
    measured = np.array([value for *_, value in points])
    effects, _, rank, _ = np.linalg.lstsq(design.astype(float), measured, rcond=None)
    freedom = len(points) - int(rank)
    left = measured - design @ effects
    return (math.sqrt(left @ left / freedom) if freedom else math.nan), freedom
