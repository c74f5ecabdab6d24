"""Table 3 as a picture: each row's difference to base, the paper's across, ours upwards. Part of the stage `report`."""

from pathlib import Path
from typing import Any

import matplotlib

from tasks.results import Results
from tasks.table3 import BLEU, PERPLEXITY, SIZES, found_differences, papers_difference
from tasks.variations import Difference, variations

SCORES = {PERPLEXITY: "ln perplexity", BLEU: "BLEU"}


def draw_table3(results: Results, path: Path) -> None:
    """A panel for each size that was measured and each score; rows where both have the same sign lie in the shade."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = {size: {score: found_differences(variations(results, size), score) for score in SCORES} for size in SIZES}
    measured = [size for size in SIZES if all(found[size].values())]
    figure, panels = pyplot.subplots(
        max(1, len(measured)), len(SCORES), figsize=(9, 4.2 * max(1, len(measured))), squeeze=False
    )
    paper = {row["row"]: row for row in results.paper["table3"]}
    for line, size in zip(panels, measured, strict=False):
        for axes, (score, title) in zip(line, SCORES.items(), strict=True):
            printed = {row: papers_difference(paper, row, score) for row in found[size][score]}
            _panel(axes, printed, found[size][score])
            axes.set(xlabel=f"difference of {title} to base: paper", ylabel=f"the same: here, {SIZES[size].lower()}")
    if not measured:
        for axes in panels[0]:
            axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
    figure.tight_layout()
    figure.savefig(path, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)


def _panel(axes: Any, printed: dict[str, float], found: dict[str, Difference]) -> None:
    for row, difference in found.items():
        x, y = printed[row], difference.value
        if difference.low is not None and difference.high is not None:
            axes.plot([x, x], [difference.low, difference.high], color="0.6", linewidth=1, zorder=1)
        filled = "black" if not difference.may_be_luck else "white"
        axes.scatter(x, y, s=24, color=filled, edgecolor="black", zorder=2)
        axes.annotate(row, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=7)
    axes.margins(0.1)  # room for the names
    axes.axhline(0, color="black", linewidth=0.6)
    axes.axvline(0, color="black", linewidth=0.6)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    axes.fill_between([0, right], 0, high, color="0.93", zorder=0)
    axes.fill_between([left, 0], low, 0, color="0.93", zorder=0)
    axes.set(xlim=(left, right), ylim=(low, high))
