"""Two columns of words with lines between them, the thicker the larger the weight."""

from pathlib import Path
from typing import Any, NamedTuple

from tasks.figures.attention_words import Seen
from tasks.figures.svg import LETTER, document, element, text

PALEST = 0.07  # a smaller weight is not drawn
COLOURS = ["#c03028", "#2060b0", "#208040", "#a06000", "#8030a0", "#008080", "#606060", "#d05090"]
DASHES = ["", "8 3", "2 3", "10 3 2 3"]
ROW, BETWEEN, MARGIN, TOP = 20, 170, 14, 84


class Line(NamedTuple):
    """From the word `query` of the left column to the word `key` of the right one."""

    head: int
    query: int
    key: int
    weight: float


class Panel(NamedTuple):
    """Both columns once, with some of the lines. Those of one head are blue; else each head has a style of its own."""

    title: str
    lines: list[Line]


def write_arcs(path: Path, shown: Seen, panels: list[Panel], bold: int | None = None) -> None:
    """Panels beside each other, queries left and keys right; `bold` is a row of the left column. Write SVG."""
    left, right = (LETTER * max(map(len, side)) + MARGIN for side in (shown.queries, shown.keys))
    width = left + BETWEEN + right
    heads = [sorted({line.head for line in panel.lines}) for panel in panels]
    legend = max(map(len, heads)) if max(map(len, heads)) > 1 else 0
    height = TOP + ROW * (max(len(shown.queries), len(shown.keys)) + legend) + 2 * MARGIN
    parts = [text(MARGIN, 24, shown.title, font_size=15, font_weight="bold"), text(MARGIN, 44, shown.origin)]
    for number, panel in enumerate(panels):
        x = number * width + left
        parts.append(text(x + BETWEEN / 2, TOP - 16, panel.title, text_anchor="middle"))
        parts += [_word(x - 5, row, word, "end", row == bold) for row, word in enumerate(shown.queries)]
        parts += [_word(x + BETWEEN + 5, row, word, "start", False) for row, word in enumerate(shown.keys)]
        parts += [_arc(x, line, len(heads[number]) == 1) for line in panel.lines if line.weight >= PALEST]
        parts += [
            _legend(x, height - MARGIN - ROW * row, head) for row, head in enumerate(reversed(heads[0])) if legend
        ]
    longest = LETTER * max(1.2 * len(shown.title), len(shown.origin)) + 2 * MARGIN
    path.write_text(document(max(width * len(panels), longest), height, parts), encoding="utf-8")


def told(head: int) -> str:
    """Its name; people count from 1."""
    return f"head {head + 1}"


def _word(x: float, row: int, word: str, anchor: str, bold: bool) -> str:
    weight = {"font_weight": "bold"} if bold else {}
    return text(x, TOP + ROW * row + 14, word, text_anchor=anchor, **weight)


def _arc(x: float, line: Line, one_head: bool) -> str:
    start, end = (TOP + ROW * row + 10 for row in (line.query, line.key))
    middle = x + BETWEEN / 2
    way = f"M{x:.0f} {start}C{middle:.0f} {start} {middle:.0f} {end} {x + BETWEEN:.0f} {end}"
    style = {"stroke": "#124a8c"} if one_head else _style(line.head)
    strength = {"stroke_width": 0.5 + 5 * line.weight, "stroke_opacity": 0.15 + 0.85 * line.weight}
    return element("path", d=way, fill="none", **style, **strength)


def _legend(x: float, y: float, head: int) -> str:
    sample = element("path", d=f"M{x:.0f} {y - 4:.0f}h60", fill="none", stroke_width=3, **_style(head))
    return sample + text(x + 68, y, told(head))


def _style(head: int) -> dict[str, Any]:
    dashes = DASHES[head % len(DASHES)]
    colour = {"stroke": COLOURS[head % len(COLOURS)]}
    return {**colour, "stroke_dasharray": dashes} if dashes else colour
