"""What all plots share: a canvas without a display, readable without colours, and the same bytes for the same data."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib

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
        # The version of matplotlib in the file would make other bytes of the same picture.
        figure.savefig(path, dpi=120, format="png", metadata={"Software": None})
    finally:
        pyplot.close(figure)


def styles() -> Iterator[dict[str, Any]]:
    """Colour, line and marker of one line after another, which differ in more than colour."""
    lines, markers = cycle(["-", "--", "-.", ":"]), cycle("osD^vP*X")
    for color in cycle(pyplot.colormaps["tab10"].colors):
        yield {"color": color, "linestyle": next(lines), "marker": next(markers), "markersize": 4}
