"""Where a model looks, as in the paper's Figures 3 to 5: two columns of words, and lines from queries to keys.

Which heads are shown is decided by rules, which stand beside the functions; they pass over what most heads do most of
the time, looking at the same word and at the end symbol.
"""

from pathlib import Path
from typing import Any

from tasks.figures.arcs import Line, Panel, told, write_arcs
from tasks.figures.plots import NOTHING
from tasks.figures.svg import document, text
from tasks.figures.words import SPECIAL, Seen, seen
from tasks.settings import AttentionPicture
from transformer.errors import InputError

Stored = dict[str, dict[str, Any]]  # reports/attention/E.json of each experiment E that was watched


def far(row: int, attention: Seen, head: int) -> float:
    """The largest weight that a head gives from one word to another one, special symbols passed over."""
    weights = zip(attention.keys, attention.heads[head][row], strict=True)
    return max((w for key, w in weights if key not in (*SPECIAL, attention.queries[row])), default=0.0)


def sharpest(attention: Seen, rows: list[int], count: int = 2) -> list[int]:
    """The heads with the largest `far`, mean of these rows; in the order of their numbers."""
    order = sorted(range(len(attention.heads)), key=lambda head: -sum(far(row, attention, head) for row in rows))
    return sorted(order[:count])


def most_different(attention: Seen) -> list[int]:
    """The two heads that differ most: half the sum of the differences of their weights, mean of all rows."""

    def distance(pair: tuple[int, int]) -> float:
        first, second = (attention.heads[head] for head in pair)
        return sum(
            abs(a - b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True)
        )

    heads = range(len(attention.heads))
    pairs = [(a, b) for a in heads for b in heads if a < b]
    if not pairs:
        return [0]
    first, second = max(pairs, key=distance)
    return [first, second]


def draw_far(attention: Stored, params: dict[str, AttentionPicture], path: Path) -> None:
    """Figure 3: from one word, all heads."""
    for name, stored in _first(attention, path):
        shown = seen(stored, "encoder")
        row = _place(params[name].far, shown, name)
        lines = [line for head in range(len(shown.heads)) for line in _lines(shown, head, [row])]
        write_arcs(path, shown.title, shown.queries, shown.keys, [Panel("all heads", lines)], row)


def draw_pronoun(attention: Stored, params: dict[str, AttentionPicture], path: Path) -> None:
    """Figure 4: from one word, the two heads that are sharpest there."""
    for name, stored in _first(attention, path):
        shown = seen(stored, "encoder")
        row = _place(params[name].pronoun, shown, name)
        panels = [Panel(told(head), _lines(shown, head, [row])) for head in sharpest(shown, [row])]
        write_arcs(path, shown.title, shown.queries, shown.keys, panels, row)


def draw_heads(attention: Stored, path: Path) -> None:
    """Figure 5: from all words, the two heads that differ most."""
    for _, stored in _first(attention, path):
        shown = seen(stored, "encoder")
        panels = [Panel(told(head), _lines(shown, head)) for head in most_different(shown)]
        write_arcs(path, shown.title, shown.queries, shown.keys, panels)


def draw_sharpest(attention: Stored, kind: str, path: Path) -> None:
    """From all words, the two heads that are sharpest in the mean: of the decoder, or from the output to the source."""
    for _, stored in _first(attention, path):
        shown = seen(stored, kind)
        heads = sharpest(shown, list(range(len(shown.queries))))
        panels = [Panel(told(head), _lines(shown, head)) for head in heads]
        write_arcs(path, shown.title, shown.queries, shown.keys, panels)


def _first(attention: Stored, path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The first experiment that was watched; if there is none, the picture says so."""
    if not attention:
        path.write_text(document(400, 100, [text(200, 55, NOTHING, text_anchor="middle")]), encoding="utf-8")
    return list(attention.items())[:1]


def _place(word: str, shown: Seen, name: str) -> int:
    lower = [query.lower() for query in shown.queries]
    if word.lower() not in lower:
        again = f"run `dvc repro --single-item attention@{name}`"
        raise InputError(f"reports/attention/{name}.json: no word {word!r} in its sentence; {again}")
    return lower.index(word.lower())


def _lines(shown: Seen, head: int, rows: list[int] | None = None) -> list[Line]:
    queries = range(len(shown.queries)) if rows is None else rows
    return [Line(head, query, key, weight) for query in queries for key, weight in enumerate(shown.heads[head][query])]
