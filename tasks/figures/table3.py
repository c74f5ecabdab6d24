"""Table 3 as a picture: each row's difference to base, the paper's across, ours upwards. Part of the stage `report`."""

from math import hypot
from pathlib import Path
from typing import Any

from matplotlib import pyplot

from tasks.figures.plots import write_png
from tasks.results.stored import Results
from tasks.results.table3_statistics import (
    BLEU,
    PERPLEXITY,
    SIZES,
    Difference,
    found_differences,
    papers_difference,
    variations,
)

SCORES = {PERPLEXITY: "ln perplexity", BLEU: "BLEU"}


def draw_table3(results: Results, path: Path) -> None:
    """A panel for each size that was measured and each score; rows where both have the same sign lie in the shade."""
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
    for line, size in zip(panels, measured, strict=False):
        for axes, score in zip(line, SCORES, strict=True):
            rows = found[size][score].items()
            _label(axes, {row: (papers_difference(paper, row, score), one.value) for row, one in rows})
    write_png(figure, path)
    pyplot.close(figure)


def _panel(axes: Any, printed: dict[str, float], found: dict[str, Difference]) -> None:
    for row, difference in found.items():
        filled = "black" if not difference.may_be_luck else "white"
        axes.scatter(printed[row], difference.value, s=24, color=filled, edgecolor="black", zorder=2)
    axes.margins(0.12)  # room for the names
    axes.axhline(0, color="black", linewidth=0.6)
    axes.axvline(0, color="black", linewidth=0.6)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    axes.set(xlim=(left, right), ylim=(low, high))  # for good: wide intervals would press the rows together
    for row, difference in found.items():
        if difference.low is not None and difference.high is not None:
            x = printed[row]
            axes.plot([x, x], [difference.low, difference.high], color="0.6", linewidth=1, zorder=1)
    axes.fill_between([0, right], 0, high, color="0.93", zorder=0)
    axes.fill_between([left, 0], low, 0, color="0.93", zorder=0)


def _label(axes: Any, points: dict[str, tuple[float, float]]) -> None:
    """Names beside the points, each at the corner where it is farthest from other points and names."""
    pixels = {row: axes.transData.transform(point) for row, point in points.items()}
    taken = list(pixels.values())
    for row, (x, y) in pixels.items():
        corners = [(side * (8 + 6 * len(row)), up) for side in (1, -1) for up in (10, -10)]
        others = [point for point in taken if point is not pixels[row]]

        def room(corner: tuple[int, int], x: float = x, y: float = y, others: list[Any] = others) -> float:
            return min((hypot(x + corner[0] - a, y + corner[1] - b) for a, b in others), default=0.0)

        side, up = max(corners, key=room)
        taken.append((x + side, y + up))
        axes.annotate(
            row, points[row], xytext=(4 if side > 0 else -4, 3 if up > 0 else -3), textcoords="offset points",
            fontsize=7, ha="left" if side > 0 else "right", va="bottom" if up > 0 else "top",
        )  # fmt: skip
