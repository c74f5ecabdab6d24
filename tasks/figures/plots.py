"""What all plots share: a canvas without a display, readable without colours, and the same bytes for the same data."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot

WIDTH, HEIGHT = 7.0, 4.0  # inches, of one panel
COLUMNS = 2
NOTHING = "nothing measured yet"


@contextmanager
def plot(path: Path, panels: int = 1) -> Iterator[list[Any]]:
    """So many panels to draw in, two in a row; the picture is written as PNG when the block ends without an error.

    With no panel it says that nothing was measured yet.
    """
    columns = min(COLUMNS, max(1, panels))
    rows = -(-max(1, panels) // columns)
    size = (WIDTH if columns == 1 else 1.5 * WIDTH, HEIGHT * rows)
    figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
    axes = list(grid.flat)
    try:
        for unused in axes[panels:]:
            unused.axis("off")
        yield axes[:panels]
        if not panels:
            axes[0].text(0.5, 0.5, NOTHING, ha="center", va="center", transform=axes[0].transAxes)
        figure.tight_layout()
        write_png(figure, path)
    finally:
        pyplot.close(figure)


def write_png(figure: Any, path: Path) -> None:
    """Write a figure in 256 colours: the page of all reports holds all pictures, and so they take a third."""
    picture = BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    Image.open(picture).convert("RGB").quantize().save(path, "PNG", optimize=True)


def styles() -> Iterator[dict[str, Any]]:
    """Colour, line and marker of one line after another, which differ in more than colour."""
    lines, markers = cycle(["-", "--", "-.", ":"]), cycle("osD^vP*X")
    for color in cycle(pyplot.colormaps["tab10"].colors):
        yield {"color": color, "linestyle": next(lines), "marker": next(markers), "markersize": 4}
