"""A page of pictures that show where a model looked while it translated: one HTML file that needs nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TextIO

from transformer.io.errors import InputError
from transformer.io.files import whole_file

CELL = 16  # pixels, as all sizes here
LETTER = 8  # width of a monospaced one at 12 pixels, and some space
PALEST = 0.01  # a smaller weight is left white: most are, and the page is ten times as small

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Alignments</title>
<style>
:root { color-scheme: light dark; --text: #222; --page: #fff; --weight: #124a8c; --frame: #ccc; --mark: #aaa; }
@media (prefers-color-scheme: dark) {
:root { --text: #ddd; --page: #181a1d; --weight: #8cc2ff; --frame: #555; --mark: #666; }
}
body { font-family: sans-serif; margin: 1.5em; color: var(--text); background: var(--page); }
p { max-width: 45em; line-height: 1.4; }
h2 { font-size: 1em; margin: 2em 0 0.3em; }
div { overflow-x: auto; }
svg { font: 12px monospace; fill: var(--text); display: block; }
tspan { fill: var(--mark); }
rect { fill: none; stroke: var(--frame); }
path { fill: var(--weight); }
</style>
</head>
<body>
<h1>Alignments</h1>
<p>Each row shows where the model looked in the source (columns) while it wrote that piece of the output: the weights of
the last decoder layer's attention to the source, mean of its heads. The stronger the colour, the larger the weight;
below 0.01 there is none, and a row sums to 1. &#x2581; marks the beginning of a word, &lt;/s&gt; the end of a
sentence.</p>
"""


@contextmanager
def alignment_page(path: Path) -> Iterator[TextIO]:
    """A page to which `picture`s are written; it appears at `path` when the block ends without an error.

    InputError if no file can be written there.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: no folder {path.parent} in which a file may be written")
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as page:
        page.write(_HEAD)
        yield page
        page.write("</body>\n</html>\n")


def picture(title: str, source: list[str], output: list[str], weights: list[list[float]]) -> str:
    """One sentence as HTML; `weights[t][s]` is how much of its attention output[t] gave to source[s]."""
    left, top = (LETTER * max(map(len, pieces)) + CELL for pieces in (output, source))
    labels = [
        f'<text x="{left - 4}" y="{top + CELL * row + 12}" text-anchor="end">{_label(piece)}</text>'
        for row, piece in enumerate(output)
    ] + [
        f'<text transform="translate({left + CELL * column + 12},{top - 4}) rotate(-90)">{_label(piece)}</text>'
        for column, piece in enumerate(source)
    ]
    cells = [
        f'<path d="M{column} {row}h1v1h-1z" opacity="{weight:.2f}"/>'
        for row, line in enumerate(weights)
        for column, weight in enumerate(line)
        if weight >= PALEST
    ]
    width, height = CELL * len(source), CELL * len(output)
    return "\n".join(
        [
            f"<h2>{escape(title)}</h2>",
            f'<div><svg width="{left + width + CELL}" height="{top + height + CELL}">',
            *labels,
            f'<g transform="translate({left},{top}) scale({CELL})">{"".join(cells)}</g>',
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}"/>',
            "</svg></div>\n",
        ]
    )


def _label(piece: str) -> str:
    """A piece in which the mark of a word's beginning is paler than its letters."""
    return escape(piece).replace("▁", "<tspan>▁</tspan>")
