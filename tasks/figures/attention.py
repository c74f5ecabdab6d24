"""Where a model looks, as in the paper's Figures 3 to 5: two columns of words, and lines from queries to keys.

Which heads are shown is decided by rules, which stand beside the functions; they pass over what most heads do most of
the time, looking at the same word and at the end symbol.
"""

from pathlib import Path
from typing import Any

from tasks.figures.arcs import Line, Panel, told, write_arcs
from tasks.figures.attention_words import SPECIAL, Seen, seen
from tasks.figures.plots import NOTHING
from tasks.figures.svg import document, text
from tasks.results.provenance import outdated
from tasks.results.stored import Results
from transformer.io.errors import InputError


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


def draw_far(results: Results, path: Path) -> None:
    """Figure 3: from one word, all heads."""
    for name, stored in _first(results, path):
        shown = seen(stored, "encoder")
        row = _place(results.params.attention[name].far, shown, name)
        lines = [line for head in range(len(shown.heads)) for line in _lines(shown, head, [row])]
        write_arcs(path, shown, [Panel("all heads", lines)], row)


def draw_pronoun(results: Results, path: Path) -> None:
    """Figure 4: from one word, the two heads that are sharpest there."""
    for name, stored in _first(results, path):
        shown = seen(stored, "encoder")
        row = _place(results.params.attention[name].pronoun, shown, name)
        panels = [Panel(told(head), _lines(shown, head, [row])) for head in sharpest(shown, [row])]
        write_arcs(path, shown, panels, row)


def draw_heads(results: Results, path: Path) -> None:
    """Figure 5: from all words, the two heads that differ most."""
    for _, stored in _first(results, path):
        shown = seen(stored, "encoder")
        panels = [Panel(told(head), _lines(shown, head)) for head in most_different(shown)]
        write_arcs(path, shown, panels)


def draw_sharpest(results: Results, kind: str, path: Path) -> None:
    """From all words, the two heads that are sharpest in the mean: of the decoder, or from the output to the source."""
    for _, stored in _first(results, path):
        shown = seen(stored, kind)
        heads = sharpest(shown, list(range(len(shown.queries))))
        panels = [Panel(told(head), _lines(shown, head)) for head in heads]
        write_arcs(path, shown, panels)


def _first(results: Results, path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The first experiment that was watched; without it, or if its scores are of another training, that is drawn."""
    watched = list(results.attention.items())[:1]
    note = outdated("attention", *watched[0], results.scores) if watched else NOTHING
    if note:
        path.write_text(document(600, 100, [text(300, 55, note, text_anchor="middle")]), encoding="utf-8")
    return [] if note else watched


def _place(word: str, shown: Seen, name: str) -> int:
    lower = [query.lower() for query in shown.queries]
    if word.lower() not in lower:
        again = f"run `dvc repro --single-item attention@{name}`"
        raise InputError(f"reports/attention/{name}.json: no word {word!r} in its sentence; {again}")
    return lower.index(word.lower())


def _lines(shown: Seen, head: int, rows: list[int] | None = None) -> list[Line]:
    queries = range(len(shown.queries)) if rows is None else rows
    return [Line(head, query, key, weight) for query in queries for key, weight in enumerate(shown.heads[head][query])]
