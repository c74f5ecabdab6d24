"""What the trainings of Table 3's rows gave, and how much of a row's difference to base is more than luck.

For the page (tasks/table3.py) and its figure (tasks/figures/table3.py).
"""

from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, stdev

from tasks.results import Results
from tasks.table3_rows import ROWS, parse_name

CONFIDENCE = 0.95  # that all intervals of a table hold at once


@dataclass(frozen=True)
class Measured:
    """One training, as the paper's Table 3 gives it: of its last weights, not averaged, on the valid split."""

    perplexity: float
    """Per sub-word."""
    bleu: float | None
    """sacreBLEU; None where only averaged weights were translated with."""
    bleu_paper: float | None
    """The paper's way: tokenised, compounds split."""
    parameters: int


@dataclass(frozen=True)
class Variation:
    """A row: its experiments in params.yaml, one a seed, and what those gave that have run."""

    row: str
    names: list[str]
    measured: dict[str, Measured]

    def values(self, score: str) -> list[float]:
        """One value a training that has this score: a field of `Measured`."""
        found = (getattr(one, score) for one in self.measured.values())
        return [value for value in found if value is not None]


@dataclass(frozen=True)
class Difference:
    """Of the mean of a row's trainings to that of base's, with the interval in which it lies."""

    value: float
    low: float | None
    high: float | None
    """None where no row was trained twice, so that nothing tells luck from the rest."""

    @property
    def may_be_luck(self) -> bool:
        """Whether the interval has both signs."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high


def variations(results: Results, table: str) -> list[Variation]:
    """All rows of a table ("table3" or "table3-tiny") in the paper's order, also such as have no experiment."""
    names: dict[str, list[str]] = {row: [] for row in ROWS}
    for name in results.params.experiments:
        row = parse_name(name)
        if row and row.table == table:
            names[row.row].append(name)
    return [
        Variation(row, of_row, {name: one for name in of_row if (one := _measured(results, name))})
        for row, of_row in names.items()
    ]


def _measured(results: Results, name: str) -> Measured | None:
    """What an experiment gave; where its scores are of averaged weights, what a sweep of this training has."""
    score = results.scores.get(name)
    if not score:
        return None
    training, valid = score["training"], score["scores"]["valid"]
    if len(training["averaged_updates"]) == 1:
        perplexity = score["splits"]["valid"]["perplexity"]["per_subword"]
        bleu, bleu_paper = valid["bleu"]["score"], valid["bleu_paper"]["score"]
        return Measured(perplexity, bleu, bleu_paper, training["parameters"])
    sweep = results.sweeps.get(name)
    for window in sweep["averaging"] if sweep and sweep["training"]["date"] == training["date"] else []:
        if window["last"] == 1:
            return Measured(window["perplexity"], window["bleu"], window["bleu_paper"], training["parameters"])
    return Measured(training["curve"][-1]["valid_perplexity"], None, None, training["parameters"])


def differences(values: dict[str, list[float]]) -> dict[str, Difference]:
    """Of each row that has values to base; empty where base has none.

    The intervals are Dunnett's (1955, "A multiple comparison procedure for comparing several treatments with a
    control"): all of them hold at once with 95%, if trainings with other seeds spread alike in all rows.
    """
    base = values.get("base", [])
    rows = {row: found for row, found in values.items() if found and row != "base"}
    if not base or not rows:
        return {}
    means = {row: mean(found) - mean(base) for row, found in rows.items()}
    if all(len(found) == 1 for found in [base, *rows.values()]):
        return {row: Difference(value, None, None) for row, value in means.items()}
    margins = _margins(tuple(map(tuple, rows.values())), tuple(base))
    return {row: Difference(means[row], means[row] - m, means[row] + m) for row, m in zip(rows, margins, strict=True)}


@lru_cache  # the page and its figure ask for the same, which takes a second
def _margins(rows: tuple[tuple[float, ...], ...], base: tuple[float, ...]) -> list[float]:
    """Half the width of each row's interval."""
    from scipy.stats import dunnett  # a second to import

    interval = dunnett(*rows, control=base, rng=1).confidence_interval(CONFIDENCE)
    return [float(high - low) / 2 for low, high in zip(interval.low, interval.high, strict=True)]


def pooled_deviation(values: dict[str, list[float]]) -> tuple[float, int]:
    """The standard deviation of a training with another seed, from all rows, and its degrees of freedom.

    ValueError if no row has two values.
    """
    repeated = [found for found in values.values() if len(found) > 1]
    freedom = sum(len(found) - 1 for found in repeated)
    if not freedom:
        raise ValueError("no row was trained twice")
    return (sum((len(found) - 1) * stdev(found) ** 2 for found in repeated) / freedom) ** 0.5, freedom
