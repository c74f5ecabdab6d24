"""The Markdown of the reports as sections of one page: sortable tables, pictures, numbers that lead to their run."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
PROSE = 50  # characters
COLLAPSED = "Where the numbers come from"
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")  # outputs of models stand in the tables
_NUMBER = re.compile(r"([+−-]?)(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?) ?%?(?: ?[±(/].*| (?!x )[A-Za-z]{1,3}\b.*)?")
_DURATION = re.compile(r"(?:(\d+) h ?)?(?:(\d+) min ?)?(?:(\d+) s)?")
_PAPERS = re.compile(r"(.*, |the )?paper|the paper's .*")  # heads of columns with what is printed in the paper
_DIFFERENCE = "difference to "  # with the name of an experiment: heads a table of differences to it
_NOTHING = re.compile(r"|–|not? .*|failed in .*")  # in a column of numbers


class Picture(NamedTuple):
    """A figure and what is said about it."""

    data_uri: str
    title: str
    caption: str

    @classmethod
    def read(cls, path: Path, title: str, caption: str) -> "Picture":
        """The picture in a file."""
        data = b64encode(path.read_bytes()).decode("ascii")
        return cls(f"data:{MEDIA_TYPES[path.suffix]};base64,{data}", title, caption)

    def html(self) -> str:
        """The figure with its caption, unless that only repeats the title."""
        caption = f"<figcaption>{escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure tabindex="0"><img src="{self.data_uri}" alt="{escape(self.title)}">{caption}</figure>\n'


@dataclass(frozen=True)
class Section:
    """One report: its anchor, title, the anchors and titles of its parts, and all of it but the title as HTML."""

    anchor: str
    title: str
    parts: list[tuple[str, str]]
    html: str


@dataclass(frozen=True)
class Renderer:
    """Turns reports into sections of one page."""

    runs: Mapping[str, str]
    """What is said of the run of each measured experiment where one of its numbers is pointed at."""
    pictures: Mapping[str, Picture]
    """By the path that the reports give, such as figures/learning_curves.png."""

    def section(self, name: str, text: str, run: str = "") -> Section:
        """A report of this file name, whose first line is its title.

        `run` is the one that all its numbers come from, if all do that are measured here.
        """
        anchor = name.removesuffix(".md")
        title, _, body = text.partition("\n")
        tokens = _MARKDOWN.parse(body)
        parts: list[tuple[str, str]] = []
        for heading, inline in pairwise(tokens):
            if heading.type == "heading_open":
                within = parts[-1][0] if parts and heading.tag != "h2" else anchor  # two parts may have the same one
                heading.attrSet("id", f"{within}-{_slug(inline.content)}")
                if heading.tag == "h2":
                    parts.append((f"{within}-{_slug(inline.content)}", _plain(inline)))
        html = _MARKDOWN.renderer.render(list(self._for_a_page(tokens, run)), _MARKDOWN.options, {})
        return Section(anchor, title.removeprefix("# "), parts, html)

    def _for_a_page(self, tokens: Sequence[Token], run: str) -> Iterator[Token]:
        """The same tokens with tables, pictures, links and headings as the page wants them."""
        place, collapsed, heading = 0, False, ""
        while place < len(tokens):
            token = tokens[place]
            if token.type == "table_open":
                end = _end(tokens, place, "table_close")
                yield _raw(self._table(tokens[place:end], heading, "" if "printed" in heading else run))
                place = end
            elif token.type == "paragraph_open" and (picture := self._picture(tokens[place + 1])):
                yield _raw(picture.html())
                place += 2
                if [_content(token) for token in tokens[place + 1 : place + 4]] == ["", picture.caption, ""]:
                    place += 3  # a report repeats the caption as a paragraph
            elif token.type == "heading_open" and token.tag == "h2":
                heading = _plain(tokens[place + 1])
                if collapsed:
                    yield _raw("</details>\n")
                collapsed = heading == COLLAPSED
                if collapsed:
                    yield _raw(f'<details id="{token.attrGet("id")}"><summary>{escape(heading)}</summary>\n')
                    place += 2
                else:
                    yield _lower(token)
            else:
                self._redirect(token)
                yield _lower(token)
            place += 1
        if collapsed:
            yield _raw("</details>\n")

    def _picture(self, inline: Token) -> Picture | None:
        """The picture of which a paragraph consists."""
        children = inline.children or []
        return self.pictures.get(str(children[0].attrGet("src"))) if [c.type for c in children] == ["image"] else None

    def _redirect(self, token: Token) -> None:
        """Links to other reports stay within the page."""
        for link, shown in pairwise(token.children or []):
            target = str(link.attrGet("href")) if link.type == "link_open" else ""
            if re.fullmatch(r"\w+\.md", target):
                link.attrSet("href", f"#{target.removesuffix('.md')}")
                shown.content = shown.content.removesuffix(".md")

    def _table(self, tokens: Sequence[Token], label: str, run: str) -> str:
        """A table whose columns sort, in a box that scrolls by itself."""
        header, *rows = _rows(tokens)
        names = [_plain(cell) for cell in header]
        kinds = [_kind([_plain(row[place]) for row in rows]) for place in range(len(header))]
        head = "".join(
            f'<th scope="col" data-kind="{kind}"><button type="button">{_inline(cell)}</button></th>'
            for cell, kind in zip(header, kinds, strict=True)
        )
        body = "".join(self._row(row, names, kinds, run) for row in rows)
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"
        )

    def _row(self, row: list[Token], names: list[str], kinds: list[str], run: str) -> str:
        texts = [_plain(cell) for cell in row]
        of_row = next(filter(None, map(self._runs_of, texts)), [run] if run else [])
        less = self._runs_of(names[0].removeprefix(_DIFFERENCE)) if names[0].startswith(_DIFFERENCE) else []
        cells = []
        for place, (cell, text, kind) in enumerate(zip(row, texts, kinds, strict=True)):
            value, own = sort_value(text), self._runs_of(text)
            runs = own or self._runs_of(names[place]) or of_row
            shown = (
                self._cell(cell, runs, less)
                if own or (value is not None and not _PAPERS.fullmatch(names[place]))
                else None
            )
            tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
            sort = f' data-sort="{value!r}"' if kind == "number" and value is not None else ""
            cells.append(f'<{tag}{scope} class="{kind}"{sort}>{shown or self._cell(cell, [], [])}</{tag}>')
        state = ' class="unrun"' if any(re.match("not run|failed in ", text) for text in texts) else ""
        return f"<tr{state}>{''.join(cells)}</tr>\n"

    def _runs_of(self, text: str) -> list[str]:
        """The runs that a name stands for: that experiment, and its other seeds."""
        return [run for run in self.runs if run == text or (text and run.startswith(f"{text}-seed"))]

    def _cell(self, cell: Token, runs: list[str], less: list[str]) -> str:
        """What a cell shows, with a link to the run that it comes from; the mean of several leads to the first.

        `less` are the runs from which a difference is taken: it names all of both.
        """
        self._redirect(cell)
        shown = _inline(cell)
        if not runs or "<a " in shown:
            return shown
        of = [*runs, *less] if less else runs if "±" in _plain(cell) else runs[:1]
        return f'<a href="#run-{runs[0]}" title="{escape("; ".join(self.runs[run] for run in of))}">{shown}</a>'


def sort_value(text: str) -> float | None:
    """The number that a cell shows, the first if it shows several; times in seconds; None if it shows none."""
    if text and (found := _DURATION.fullmatch(text)):
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return float(3600 * hours + 60 * minutes + seconds)
    if found := _NUMBER.fullmatch(text):
        return float(found[2].replace(",", "")) * (-1 if found[1] in ("−", "-") else 1)
    return None


def section_of_figures(pictures: Sequence[Picture]) -> Section:
    """Pictures under their titles."""
    parts = [(f"figures-{_slug(picture.title)}", picture.title) for picture in pictures]
    html = "".join(
        f'<h3 id="{anchor}">{escape(title)}</h3>\n{picture.html()}'
        for (anchor, title), picture in zip(parts, pictures, strict=True)
    )
    return Section("figures", "Figures", parts, html)


def plain_html(text: str) -> str:
    """Markdown as HTML, with nothing added."""
    return str(_MARKDOWN.render(text))


def _kind(column: list[str]) -> str:
    """A column sorts by number if all that it shows are numbers; prose needs more room than other text."""
    shown = [text for text in column if not _NOTHING.fullmatch(text)]
    if shown and all(sort_value(text) is not None for text in shown):
        return "number"
    return "prose" if any(len(text) > PROSE for text in column) else "text"


def _rows(tokens: Sequence[Token]) -> list[list[Token]]:
    rows: list[list[Token]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token)
    return rows


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _content(token: Token) -> str:
    """The words of a piece of text, whatever their lines."""
    return " ".join(token.content.split())


def _inline(inline: Token) -> str:
    return str(_MARKDOWN.renderer.render([inline], _MARKDOWN.options, {}))


def _slug(title: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def _end(tokens: Sequence[Token], start: int, closing: str) -> int:
    return next(place for place in range(start, len(tokens)) if tokens[place].type == closing)


def _lower(token: Token) -> Token:
    """Headings one level lower, since the page has a title of its own."""
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{int(token.tag[1]) + 1}"
    return token


def _raw(html: str) -> Token:
    return Token("html_block", "", 0, content=html)
