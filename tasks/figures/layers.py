"""Table 1 as a picture: what layers take over n and over d. Part of the stage `report`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import pyplot

from tasks.figures.plots import write_png
from tasks.results.layers import AXES, Layers, line, names, other


def draw_layers(layers: Layers | None, path: Path) -> None:
    """Time and kept memory, each over n and over d, with logarithmic axes; one line for each layer."""
    figure, grid = pyplot.subplots(2, 2, figsize=(10, 8), squeeze=True)
    for row, (label, measure) in zip(
        grid, (("ms", lambda p: p["seconds"] * 1e3), ("MB kept", lambda p: p["bytes"] / 1e6)), strict=True
    ):
        for axes, (axis, fixed) in zip(row, AXES.items(), strict=True):
            if layers is None:
                axes.text(0.5, 0.5, "not run", ha="center", transform=axes.transAxes)
                continue
            _draw(axes, layers, axis, measure)
            axes.set(xlabel=f"{axis}, at {other(axis)} = {layers['settings'][fixed]}", ylabel=label)
    if layers is not None:
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    write_png(figure, path)
    pyplot.close(figure)


def _draw(axes: Any, layers: Layers, axis: str, measure: Callable[[dict[str, Any]], float]) -> None:
    colours: dict[str, str] = {}
    for layer in names(layers):
        kind = layer.removesuffix(" with projections")
        colour = colours.setdefault(kind, f"C{len(colours)}")
        points = line(layers, layer, axis)
        style = ":" if layer != kind else "-"
        axes.plot([p[axis] for p in points], list(map(measure, points)), style, color=colour, marker=".", label=layer)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [point[axis] for point in points]
    axes.set_xticks(ticks, map(str, ticks))
    axes.grid(alpha=0.3)
