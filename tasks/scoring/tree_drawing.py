"""Two trees over the same words, a treebank's and a parser's, as text and drawn side by side.

Brackets that only one of them has are marked. A bracket is a label and the words that it spans; where a tree has the
same one several times it counts so often. Nothing here calls itself: a parser's trees may be very deep.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path

from transformer.text.trees import ANY_TAG, Tree, escape

# Lengths of the picture, in points.
_TEXT = 9.0
_LEVEL = 23.0  # from a bracket to the one around it
_CLEAR = 7.5  # between the middle of a text and lines above and below it
_GAP = 9.0  # between neighbours
_EDGE = 20.0
_HEADING = 44.0  # above two trees
_TITLE = 76.0  # above all, with the legend


class _Style(NamedTuple):
    """How brackets are drawn: colours that the colour-blind can tell apart, and lines that do without colour."""

    colour: str
    line: str
    width: float


_IN_BOTH = _Style("0.45", "-", 0.9)
_ONLY_GOLD = _Style("#0072B2", ":", 2.0)
_ONLY_PREDICTED = _Style("#D55E00", "--", 1.6)


class TreePair(NamedTuple):
    """A row of the picture."""

    heading: str
    gold: Tree
    predicted: Tree


def unmatched(tree: Tree, other: Tree) -> list[bool]:
    """For each phrase of the tree, whether the other has no such bracket left for it."""
    left = Counter(other.phrases)
    left.subtract(tree.phrases)
    alone = []
    for phrase in reversed(tree.phrases):  # of several alike the inner ones are those without a match
        alone.append(left[phrase] < 0)
        left[phrase] += alone[-1]
    return alone[::-1]


def parents(tree: Tree) -> tuple[list[int], list[int]]:
    """The place in `tree.phrases` of the phrase just around each phrase, and around each word; -1 where none is."""
    of_words = [-1] * len(tree.words)
    of_phrases = []
    for place, (_, start, end) in enumerate(tree.phrases):
        of_phrases.append(of_words[start])
        of_words[start:end] = [place] * (end - start)
    return of_phrases, of_words


def levels(tree: Tree) -> list[int]:
    """How many brackets lie in each phrase on top of each other, itself included; at the end, in the whole tree + 1."""
    found = [1] * (len(tree.phrases) + 1)
    of_phrases, _ = parents(tree)
    for place in reversed(range(len(tree.phrases))):
        found[of_phrases[place]] = max(found[of_phrases[place]], found[place] + 1)
    return found


def has_tags(tree: Tree) -> bool:
    """Whether the parser that wrote the tree tells tags."""
    return any(tag != ANY_TAG for tag in tree.tags)


def as_text(tree: Tree, marked: Sequence[bool], mark: str, tags: bool) -> list[str]:
    """Lines with one phrase each, indented, with the mark in the margin of marked ones.

    Args:
        tree: the tree.
        marked: for each phrase, whether it is marked.
        mark: one character.
        tags: words have theirs: (NN dog), otherwise dog.
    """
    of_phrases, of_words = parents(tree)
    depths = [0] * (len(tree.phrases) + 1)
    depths[-1] = -1
    closed = Counter(phrase.end - 1 for phrase in tree.phrases)
    lines: list[str] = []
    place, current = 0, None  # next phrase, and the one on whose line the next word may stand
    for index, (tag, word) in enumerate(zip(tree.tags, map(escape, tree.words), strict=True)):
        while place < len(tree.phrases) and tree.phrases[place].start == index:
            depths[place] = depths[of_phrases[place]] + 1
            margin = mark if marked[place] else ""
            lines.append(f"{margin:4}{'  ' * depths[place]}({tree.phrases[place].label}")
            place, current = place + 1, place
        if current == of_words[index] and lines:
            lines[-1] += " "
        else:
            lines.append("    " + "  " * (depths[of_words[index]] + 1))
            current = of_words[index]
        lines[-1] += (f"({tag} {word})" if tags else word) + ")" * closed[index]
    return lines


def draw(title: str, pairs: Sequence[TreePair]) -> Figure:
    """The trees of each pair, gold on the left and predicted on the right, one pair below the other."""
    slots = [_slots(pair) for pair in pairs]
    column = max([300.0, *map(sum, slots)])
    heights = [
        _HEADING + _LEVEL * (max(levels(pair.gold)[-1], levels(pair.predicted)[-1]) + has_tags(pair.predicted))
        for pair in pairs
    ]
    width, height = 2 * column + 4 * _EDGE, _TITLE + sum(heights) + _EDGE
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(-height, 0))
    axes.axis("off")
    axes.text(_EDGE, -_EDGE, title, size=13, weight="bold", va="center", parse_math=False)
    _legend(axes, width)
    for pair, some, top, below in zip(pairs, slots, accumulate(heights, initial=_TITLE), heights, strict=False):
        axes.plot([_EDGE, width - _EDGE], [-top, -top], color="0.8", linewidth=0.8)
        axes.text(_EDGE, -top - 14, pair.heading, size=10, weight="bold", va="center", parse_math=False)
        tags = has_tags(pair.predicted)
        for tree, other, style, left, name in (
            (pair.gold, pair.predicted, _ONLY_GOLD, _EDGE, "gold"),
            (pair.predicted, pair.gold, _ONLY_PREDICTED, column + 3 * _EDGE, "predicted"),
        ):
            axes.text(left, -top - 29, name, size=_TEXT, style="italic", color="0.35", va="center")
            styles = [style if alone else _IN_BOTH for alone in unmatched(tree, other)]
            _draw_tree(axes, tree, styles, some, (left, 0.4 * _LEVEL - top - below), tags)
    return figure


def _legend(axes: Any, width: float) -> None:
    named = {"in both": _IN_BOTH, "only in gold": _ONLY_GOLD, "only in predicted": _ONLY_PREDICTED}
    lines = [
        Line2D([], [], color=colour, linestyle=line, linewidth=thick, label=name)
        for name, (colour, line, thick) in named.items()
    ]
    axes.legend(
        handles=lines,
        loc="center left",
        bbox_to_anchor=(_EDGE, -2.7 * _EDGE),
        bbox_transform=axes.transData,
        borderaxespad=0,
        ncols=3,
        frameon=False,
        fontsize=10,
        handlelength=4,
    )


def _slots(pair: TreePair) -> list[float]:
    """The width for each word, the same in both trees; what stands above words has room too."""
    slots = [_width(word) + _GAP for word in pair.gold.words]
    over: list[tuple[str, int, int]] = [*pair.gold.phrases, *pair.predicted.phrases]
    if has_tags(pair.predicted):
        tags = [*enumerate(pair.gold.tags), *enumerate(pair.predicted.tags)]
        over += [(tag, index, index + 1) for index, tag in tags]
    for label, start, end in over:
        lacking = _width(label) + 2 * _GAP - sum(slots[start:end])
        if lacking > 0:
            slots[start:end] = [slot + lacking / (end - start) for slot in slots[start:end]]
    return slots


def _width(text: str) -> float:
    width: float = text_to_path.get_text_width_height_descent(text, FontProperties(size=_TEXT), ismath=False)[0]
    return width


def _draw_tree(
    axes: Any, tree: Tree, styles: list[_Style], slots: list[float], corner: tuple[float, float], tags: bool
) -> None:
    """Draw one tree: words in a row, each bracket above what it holds, with lines at right angles, which cannot cross.

    Args:
        axes: with points as unit.
        tree: the tree.
        styles: of each phrase.
        slots: width for each word.
        corner: x of the left edge and y of the words.
        tags: draw them, above the words.
    """
    x, bottom = corner
    ends = list(accumulate(slots, initial=x))
    centres = [end + slot / 2 for end, slot in zip(ends, slots, strict=False)]
    of_phrases, of_words = parents(tree)
    heights = [bottom + _LEVEL * (level + tags) for level in levels(tree)]
    lefts, rights = [inf] * len(heights), [-inf] * len(heights)  # of the centres of what each phrase holds
    lines: list[tuple[_Style, list[tuple[float, float]]]] = []

    def hang(centre: float, height: float, parent: int) -> None:
        lefts[parent], rights[parent] = min(lefts[parent], centre), max(rights[parent], centre)
        if parent >= 0:
            lines.append((styles[parent], [(centre, height + _CLEAR), (centre, heights[parent] - _LEVEL / 2)]))

    for centre, tag, word, parent in zip(centres, tree.tags, tree.words, of_words, strict=True):
        hang(centre, bottom + tags * _LEVEL, parent)
        _write(axes, centre, bottom, word, {})
        if tags:
            _write(axes, centre, bottom + _LEVEL, tag, {"color": "0.35", "style": "italic"})
    for place in reversed(range(len(tree.phrases))):
        style, centre, bar = styles[place], (lefts[place] + rights[place]) / 2, heights[place] - _LEVEL / 2
        lines.append((style, [(centre, heights[place] - _CLEAR), (centre, bar)]))
        lines.append((style, [(lefts[place], bar), (rights[place], bar)]))
        hang(centre, heights[place], of_phrases[place])
        look = {} if style is _IN_BOTH else {"color": style.colour, "weight": "bold"}
        _write(axes, centre, heights[place], tree.phrases[place].label, look)
    collection = LineCollection(
        [points for _, points in lines],
        colors=[style.colour for style, _ in lines],
        linestyles=[style.line for style, _ in lines],
        linewidths=[style.width for style, _ in lines],
    )
    axes.add_collection(collection, autolim=False)


def _write(axes: Any, x: float, y: float, text: str, look: dict[str, Any]) -> None:
    """Text around a point. A dollar in it is no formula."""
    axes.text(x, y, text, size=_TEXT, ha="center", va="center", parse_math=False, **look)
