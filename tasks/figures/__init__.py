"""The figures: the file of each below reports/figures/, how it is drawn, what it shows. Part of the stage `report`.

All are drawn from what `tasks.results.Results` holds, and from the code and settings of the model itself: the same
input gives the same bytes, and what was not measured yet is said in the picture.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tasks.figures.curves import draw_curves
from tasks.figures.table3 import draw_table3
from tasks.results import Results


class Figure(NamedTuple):
    """A picture of reports/figures/. Pages that show it take title and caption from here, also as its alt text."""

    draw: Callable[[Results, Path], None]
    title: str
    caption: str


FIGURES: dict[str, Figure] = {
    "learning_curves.png": Figure(
        lambda results, path: draw_curves(results.translation.scores, path),
        "Learning curves",
        "Perplexity per sub-word by update, of the valid split and, faint, of the training. It compares only within "
        "one vocabulary.",
    ),
    "table3.png": Figure(
        draw_table3,
        "Table 3: differences to base",
        "Each row's difference to base, the paper's across and ours upwards: in the shaded quarters both have the same "
        "sign. Bars are intervals that hold for all rows of a panel at once with 95%; where one has both signs, which "
        "is where the circle is empty, the difference may be luck. Without bars no row has two seeds.",
    ),
    "parsing_curves.png": Figure(
        lambda results, path: draw_curves(results.parsing.scores, path),
        "Learning curves of the parsers",
        "Perplexity per sub-word of the linearised trees by update, of the valid split and, faint, of the training.",
    ),
}
