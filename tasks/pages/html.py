"""Pages as sections of one HTML page: sortable tables, pictures, numbers that lead to their runs."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from tasks.common.document import Cell, Heading, Page, Picture, Table, cell_of

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
PROSE = 50  # characters
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")  # outputs of models stand in the tables


@dataclass(frozen=True)
class Section:
    """One report: its anchor, title, the anchors and titles of its parts, and all of it but the title as HTML."""

    anchor: str
    title: str
    parts: list[tuple[str, str]]
    html: str


@dataclass
class Renderer:
    """Turns pages into sections.

    Attributes:
        runs: what is said of the run of each measured experiment where one of its numbers is pointed at.
        figures: the folder of the pictures.
        shown: the files of the pictures that were in the pages up to now.
    """

    runs: Mapping[str, str]
    figures: Path
    shown: set[str] = field(default_factory=set)

    def section(self, anchor: str, page: Page) -> Section:
        """A page, and where it begins."""
        parts: list[tuple[str, str]] = []
        pieces: list[str] = []
        folded, label = False, ""
        for block in page.blocks:
            match block:
                case Heading(text, level, fold):
                    within = parts[-1][0] if parts and level > 2 else anchor  # two parts may have the same one
                    place = f"{within}-{slug(text)}"
                    if level == 2:
                        pieces.append("</details>\n" * folded)
                        folded, label = fold, text
                        parts.append((place, text))
                    if fold:
                        pieces.append(f'<details id="{place}"><summary>{escape(text)}</summary>\n')
                    else:  # one level lower, since the page of all has a title of its own
                        pieces.append(f'<h{level + 1} id="{place}">{escape(text)}</h{level + 1}>\n')
                case Table():
                    pieces.append(self._table(block, label))
                case Picture():
                    pieces.append(self.picture(block))
                case text:
                    pieces.append(prose(text))
        return Section(anchor, page.title, parts, "".join([*pieces, "</details>\n" * folded]))

    def picture(self, picture: Picture) -> str:
        """The figure with its caption."""
        path = self.figures / picture.file
        self.shown.add(picture.file)
        data = b64encode(path.read_bytes()).decode("ascii")
        caption = f"<figcaption>{escape(picture.caption)}</figcaption>" if picture.caption else ""
        return (
            f'<figure tabindex="0"><img src="data:{MEDIA_TYPES[path.suffix]};base64,{data}" '
            f'alt="{escape(picture.title)}">{caption}</figure>\n'
        )

    def _table(self, table: Table, label: str) -> str:
        """A table whose columns sort, in a box that scrolls by itself."""
        rows = [[cell_of(cell) for cell in row] for row in table.rows]
        kinds = [_kind([row[place] for row in rows]) for place in range(len(table.header))]
        head = "".join(
            f'<th scope="col" data-kind="{kind}"><button type="button">{inline(name)}</button></th>'
            for name, kind in zip(table.header, kinds, strict=True)
        )
        body = "".join(self._row(row, kinds) for row in rows)
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
        )

    def _row(self, row: Sequence[Cell], kinds: Sequence[str]) -> str:
        cells = []
        for place, (cell, kind) in enumerate(zip(row, kinds, strict=True)):
            tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
            sort = f' data-sort="{cell.value!r}"' if kind == "number" and cell.value is not None else ""
            cells.append(f'<{tag}{scope} class="{kind}"{sort}>{self._shown(cell)}</{tag}>')
        state = ' class="unrun"' if any(cell.unrun for cell in row) else ""
        return f"<tr{state}>{''.join(cells)}</tr>\n"

    def _shown(self, cell: Cell) -> str:
        """What a cell shows, with a link to the first of its runs that were measured here; it names all of them."""
        shown, runs = inline(cell.text), [run for run in cell.runs if run in self.runs]
        if not runs:
            return shown
        return f'<a href="#run-{runs[0]}" title="{escape("; ".join(self.runs[run] for run in runs))}">{shown}</a>'


def section_of_figures(renderer: Renderer, pictures: Sequence[Picture]) -> Section:
    """Pictures under their titles."""
    blocks = [block for picture in pictures for block in (Heading(picture.title), picture)]
    return renderer.section("figures", Page("Figures", blocks))


def prose(text: str) -> str:
    """Markdown as HTML; links to other reports stay within the page."""
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        for link, shown in pairwise(token.children or []):
            target = str(link.attrGet("href")) if link.type == "link_open" else ""
            if target.endswith(".md") and "/" not in target:
                link.attrSet("href", f"#{target.removesuffix('.md')}")
                shown.content = shown.content.removesuffix(".md")
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def inline(text: str) -> str:
    """Markdown on one line as HTML."""
    return str(_MARKDOWN.renderInline(text))


def slug(title: str) -> str:
    """The letters and digits of a title, as a part of an anchor."""
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in title.lower()).split())


def _kind(column: Sequence[Cell]) -> str:
    """A column sorts by number if all that it shows are numbers; prose needs more room than other text."""
    shown = [cell for cell in column if not (cell.blank or cell.unrun)]
    if shown and all(cell.value is not None for cell in shown):
        return "number"
    return "prose" if any(len(cell.text) > PROSE for cell in column) else "text"
