"""Table 1: what the paper says of its layers, and time, operations, memory and longest chain as measured here.

Part of the stage `report`; writes reports/table1.md from reports/layers/measured.json, which `python -m tasks.layers`
measures.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tasks.common.document import Block, Cell, Heading, Page, Table, fixed, from_runs
from tasks.common.markdown import short_commit
from tasks.figures.gallery import picture
from tasks.results.layers import AXES, Layers, Points, line, names, other

RUNS = ("layers",)  # the stage that measures it, where the page of all reports has runs
FITTED = 3  # the largest sizes, through which an exponent is fitted

MEASURES: dict[str, Callable[[dict[str, Any]], float]] = {
    "operations": lambda point: point["operations"],
    "time": lambda point: point["seconds"],
    "memory": lambda point: point["bytes"],
    "chain": lambda point: point["chain"],
}
MEANING = (
    "An exponent is the slope of a straight line through the logarithms of the three largest sizes: of smaller ones, "
    "time is mostly what any call costs. *Operations* are those of the matrix products, forward and backward; they do "
    "not depend on the machine. *Time* is that of the same, and does: small products use less of a core than large "
    "ones (so its exponent over d stays below that of the operations), and a layer that leaves the caches slows down "
    "(so it may be above). *Memory* is what training keeps from the forward to the backward pass, without weights. "
    "*Chain* is the longest row of operations of which each waits for the one before it: the paper's sequential "
    "operations, O(n) as exponent 1 and O(1) as 0."
)
LAYERS = (
    "*Recurrent* are gated recurrent units (PyTorch's GRU), *convolutional* is a convolution of all channels to all. "
    "Attention has d / d_k heads, so that all of its work grows with d, the softmax too. The paper counts attention "
    "without its projections; *with projections* is the layer as a Transformer has it, with 4 n d² products more, "
    "which decide as long as n is less than about 2 d. *Restricted* self-attention multiplies blocks of r queries with "
    "the 2 r keys around them and masks half: twice the least work, and nothing that grows with n². The maximum path "
    "length is a property of stacks of layers, and not measured."
)


def table1(layers: Layers | None, paper: dict[str, Any]) -> Page:
    """The page.

    Args:
        layers: what was measured; None if nothing was.
        paper: tasks/results/paper.yaml.
    """
    blocks: list[Block] = [
        "n is the length of the sequence, d the width of the "
        "layer, k the kernel of a convolution, r the neighbourhood of restricted self-attention.",
        Heading("The paper's table (printed in the paper, not measured here)"),
        papers_rows(paper),
        Heading("Measured here"),
    ]
    if layers is None:
        blocks.append("Not run: `dvc repro layers` measures it in about two minutes, best on an idle machine.")
    else:
        blocks += measured(layers, paper)
    return Page("Table 1: what layers cost", blocks)


def papers_rows(paper: dict[str, Any]) -> Table:
    """The rows as printed."""
    header = ["layer", "complexity per layer", "sequential operations", "maximum path length"]
    keys = ["layer", "complexity", "sequential", "path"]
    return Table(
        header, [[f"O({row[key]})" if key != "layer" else row[key] for key in keys] for row in paper["table1"]]
    )


def measured(layers: Layers, paper: dict[str, Any]) -> list[Block]:
    """Exponents, what they are of, the sizes themselves, and where they were measured."""
    settings, machine = layers["settings"], layers["machine"]
    return [
        exponents(layers, paper),
        MEANING,
        picture("layers.png"),
        *(
            part
            for axis, fixed in AXES.items()
            for part in (f"Over {axis}, at {other(axis)} = {settings[fixed]}:", sizes(layers, axis))
        ),
        faster(layers),
        LAYERS,
        f"One sequence, forward and backward in fp32; k = {settings['kernel']}, r = {settings['neighbourhood']}, "
        f"d_k = {settings['d_k']}. The fastest of {settings['rounds']} rounds; the slowest took up to "
        f"{max(point['slowest_seconds'] / point['seconds'] for point in layers['points']):.1f} times as long, by "
        f"whatever else ran. {machine['device']}; torch {machine['torch']}; commit {short_commit(layers['commit'])}, "
        f"{layers['date'][:10]}.",
    ]


def exponents(layers: Layers, paper: dict[str, Any]) -> Table:
    """One row for each layer and axis: the paper's exponent, and the fitted one of each measure."""
    printed = {row["layer"]: row for row in paper["table1"]}
    header = ["layer", "complexity", "over", "the paper's exponent", *MEASURES]
    rows = []
    for layer in names(layers):
        row = printed.get(layer.removesuffix(" with projections"), {})
        for axis in AXES:
            known = Cell(str(power := row["exponents"][axis]), power) if layer in printed else "–"
            formula = row["complexity"] if layer in printed else f"{row['complexity']} + n · d²"
            points = line(layers, layer, axis)
            fitted = (round(exponent(points, axis, measure), 2) + 0.0 for measure in MEASURES.values())  # no -0.00
            rows.append([layer, formula, axis, known, *from_runs(RUNS, map(fixed, fitted))])
    return Table(header, rows)


def exponent(points: Points, axis: str, measure: Callable[[dict[str, Any]], float]) -> float:
    """The slope of log(measure) over log(size), by least squares through the FITTED largest sizes."""
    largest = points[-FITTED:]
    slope = np.polyfit(np.log([point[axis] for point in largest]), np.log([measure(p) for p in largest]), 1)[0]
    return float(slope)


def sizes(layers: Layers, axis: str) -> Table:
    """Milliseconds and kept megabytes of each layer at each size."""
    ticks = [point[axis] for point in line(layers, names(layers)[0], axis)]
    header = ["layer", *(f"{axis} = {tick:,}" for tick in ticks)]
    return Table(
        header,
        [[layer, *from_runs(RUNS, map(_size, line(layers, layer, axis)))] for layer in names(layers)],
    )


def _size(point: dict[str, Any]) -> Cell:
    milliseconds = point["seconds"] * 1e3
    return Cell(f"{milliseconds:.3g} ms, {point['bytes'] / 1e6:.3g} MB", milliseconds)


def faster(layers: Layers) -> str:
    """Up to which length self-attention takes less time than recurrence; section 4 says, as long as n < d."""
    d = layers["settings"]["width"]
    recurrent = {point["n"]: point["seconds"] for point in line(layers, "recurrent", "n")}
    attention = line(layers, "self-attention with projections", "n")
    wins = [point["n"] for point in attention if point["seconds"] < recurrent[point["n"]]]
    loses = [n for n in recurrent if n not in wins]
    said = f"The paper says that self-attention is faster than recurrence where n < d. At d = {d}, with projections, it"
    if not wins:
        return f"{said} was slower here at each length measured."
    if not loses:
        return f"{said} was faster here at each length measured, up to {max(wins):,}."
    return f"{said} was faster here at lengths {_listed(wins)}, and slower at {_listed(loses)}."


def _listed(lengths: list[int]) -> str:
    return ", ".join(f"{n:,}" for n in lengths)
