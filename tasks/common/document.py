"""Pages as data: headings, prose, pictures, and tables whose cells know their numbers and the runs these come from.

`markdown` writes a page as a file of reports/; tasks/pages/html.py writes the page of all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.common.markdown import duration, table


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: Markdown, on one line.
        value: the number that it shows, by which it sorts; of several the first.
        runs: the experiments whose runs the number comes from; none if it was not measured here.
        blank: nothing where a number would stand, such as a dash.
        unrun: the same, because the experiment has not run, or failed.
    """

    text: str = ""
    value: float | None = None
    runs: tuple[str, ...] = ()
    blank: bool = False
    unrun: bool = False


Row = Sequence[Cell | str]  # a plain text is a cell that is no number


@dataclass(frozen=True)
class Table:
    """A table, all of whose rows are as long as its header."""

    header: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Heading:
    """The title of a part; folded: a reader of the page opens the part when it is wanted."""

    text: str
    level: int = 2
    folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure below reports/figures/, with its title, and what is said about it."""

    file: str
    title: str
    caption: str = ""


Block = str | Table | Heading | Picture  # a text is Markdown: a paragraph, a list, a block of code


@dataclass(frozen=True)
class Page:
    """A title and what stands below it."""

    title: str
    blocks: Sequence[Block]


def markdown(page: Page) -> str:
    """The page as a file."""
    return "\n\n".join([f"# {page.title}", *map(as_markdown, page.blocks)]) + "\n"


def as_markdown(block: Block) -> str:
    """A block as a file has it."""
    match block:
        case Table(header, rows):
            return table(list(header), [[cell_of(cell).text for cell in row] for row in rows])
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Picture(file, title, caption):
            return "\n\n".join(filter(None, [f"![{title}](figures/{file})", caption]))
        case text:
            return text


def cell_of(cell: Cell | str) -> Cell:
    """A text as a cell; one that shows nothing is blank."""
    return cell if isinstance(cell, Cell) else Cell(cell, blank=cell in ("", "–"))


def fixed(value: float | None, digits: int = 2) -> Cell:
    """A number with so many decimals; None is one that does not apply to the text."""
    if value is None:
        return Cell("not applicable", blank=True)
    return Cell(f"{value:.{digits}f}", value)


def count(value: int) -> Cell:
    """A whole number."""
    return Cell(f"{value:,}", value)


def large(value: float | None) -> Cell:
    """A number as people write it; large ones by their magnitude, a missing one as a dash."""
    if value is None:
        return Cell("–", blank=True)
    return Cell(f"{value:.1e}".replace("e+", "e") if value >= 1e6 else str(value), value)


def share(value: float) -> Cell:
    """A share in percent."""
    return Cell(f"{value:.2%}", 100 * value)


def lasting(seconds: float) -> Cell:
    """A duration."""
    return Cell(duration(seconds), seconds)


def strong(cell: Cell) -> Cell:
    """The same, to be looked at first."""
    return replace(cell, text=f"**{cell.text}**")


def from_runs(runs: Sequence[str], cells: Iterable[Cell | str]) -> Row:
    """Cells whose numbers come from these runs, unless they say another one."""
    return [
        replace(cell, runs=tuple(runs)) if isinstance(cell, Cell) and cell.value is not None and not cell.runs else cell
        for cell in cells
    ]


def row_of(experiment: str, cells: Iterable[Cell | str]) -> Row:
    """The row of one experiment: its name, and what its run came to."""
    return [Cell(experiment, runs=(experiment,)), *from_runs([experiment], cells)]
