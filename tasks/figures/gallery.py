"""The figures: the file of each below reports/figures/, how it is drawn, what it shows. Part of the stage `report`.

All are drawn from what `tasks.results.stored.Results` holds, and from the code and settings of the model itself: the
same input gives the same bytes, and what was not measured yet is said in the picture.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tasks.common.document import Picture
from tasks.figures.architecture import draw_architecture
from tasks.figures.arcs import PALEST
from tasks.figures.attention import draw_far, draw_heads, draw_pronoun, draw_sharpest
from tasks.figures.curves import draw_curves
from tasks.figures.formulas import draw_learning_rates, draw_positions
from tasks.figures.layers import draw_layers
from tasks.figures.sweeps import draw_averaging, draw_search
from tasks.figures.table3 import draw_table3
from tasks.results.stored import Results


class Figure(NamedTuple):
    """A picture of reports/figures/. Pages that show it take title and caption from here, also as its alt text."""

    draw: Callable[[Results, Path], None]
    title: str
    caption: str


LOOKING = (
    "Lines lead from each word (left) to those that it takes from (right), the thicker the more; weights below "
    f"{PALEST} are left out."
)
FIGURES: dict[str, Figure] = {
    "architecture.svg": Figure(
        lambda results, path: draw_architecture(results.params, path),
        "The architecture",
        "The paper's Figure 1, drawn from the modules of the model itself: names, shapes and numbers of parameters. "
        "Matrices are outputs × inputs; the embedding is one matrix, used three times and counted once.",
    ),
    "positions.png": Figure(
        lambda results, path: draw_positions(results.params, path),
        "Positional encodings",
        "Section 3.5: sines in even and cosines in odd dimensions, with wavelengths from 2π (left) to 10000 · 2π.",
    ),
    "learning_rates.png": Figure(
        lambda results, path: draw_learning_rates(results.params, path),
        "Learning rates",
        "Equation 3: the rate rises in a line over the warm-up and falls with the square root of the updates. A longer "
        "warm-up lowers the peak, and so does a larger model.",
    ),
    "layers.png": Figure(
        lambda results, path: draw_layers(results.layers, path),
        "Table 1: time and memory of layers",
        "What a layer takes for one sequence, forward and backward: over the length of it, and over the layer's width.",
    ),
    "learning_curves.png": Figure(
        lambda results, path: draw_curves(results, path),
        "Learning curves",
        "Perplexity per sub-word by update, of the valid split and, faint, of the training. It compares only within "
        "one vocabulary; where trees are learned, it is theirs.",
    ),
    "table3.png": Figure(
        draw_table3,
        "Table 3: differences to base",
        "Each row's difference to base, the paper's across and ours upwards: in the shaded quarters both have the same "
        "sign. Bars, cut off at the edge, are intervals that hold for all rows of a panel at once with 95%; where one "
        "has both signs, which is where the circle is empty, the difference may be luck. Without bars no row has two "
        "seeds.",
    ),
    "parsing_curves.png": Figure(
        lambda results, path: draw_curves(results.parsing, path),
        "Learning curves of the parsers",
        "Perplexity per sub-word of the linearised trees by update, of the valid split and, faint, of the training.",
    ),
    "averaging.png": Figure(
        draw_averaging,
        "BLEU by averaging",
        "Scores on the valid split of the mean of the last so many weights (section 6.1), each searched alike.",
    ),
    "search.png": Figure(
        draw_search,
        "BLEU by beam and length penalty",
        "Scores on the valid split of one model, searched in several ways. The paper's, chosen on its valid split, is "
        "a beam of 4 with an exponent of 0.6.",
    ),
    "attention_far.svg": Figure(
        draw_far,
        "Attention from a word to a distant one",
        "As the paper's Figure 3: all heads of the encoder's last layer but one, from one word of our sentence. "
        + LOOKING,
    ),
    "attention_pronoun.svg": Figure(
        draw_pronoun,
        "Attention from a pronoun",
        "As the paper's Figure 4: of the same layer those two heads that give most from the pronoun to one other word. "
        "In the paper that is what the pronoun stands for; a small model need not have found it. " + LOOKING,
    ),
    "attention_heads.svg": Figure(
        draw_heads,
        "Two heads that do different things",
        f"As the paper's Figure 5: of the same layer the two heads whose weights differ most. {LOOKING}",
    ),
    "attention_decoder.svg": Figure(
        lambda results, path: draw_sharpest(results, "decoder", path),
        "Attention of the decoder to what it has written",
        "Of the decoder's last layer but one the two heads that give most to single other words; no word sees a later "
        f"one. {LOOKING}",
    ),
    "attention_cross.svg": Figure(
        lambda results, path: draw_sharpest(results, "cross", path),
        "Attention of the decoder to the source",
        "The output (left) while it is written, the source right; of the decoder's last layer but one the two heads "
        f"that give most to single words. {LOOKING}",
    ),
}


def picture(name: str) -> Picture:
    """The figure as a page in reports/ shows it, with its caption below."""
    return Picture(name, FIGURES[name].title, FIGURES[name].caption)
