"""From weights between sub-words, as reports/attention/E.json has them, to weights between words.

What the pieces of a word get is added up, what they give is averaged: rows still sum to 1.
"""

import re
from dataclasses import dataclass
from typing import Any

from tasks.results.provenance import run_of

Rows = list[list[float]]  # [queries][keys]
Words = list[tuple[str, list[int]]]  # each with the places of its pieces

SPECIAL = ("<s>", "</s>")


@dataclass
class Seen:
    """What one attention of one model saw, by words: each head has a row for each query."""

    title: str
    origin: str
    queries: list[str]
    keys: list[str]
    heads: list[Rows]


def seen(stored: dict[str, Any], kind: str) -> Seen:
    """One of `encoder`, `decoder` and `cross`, from reports/attention/E.json."""
    pieces = {
        "encoder": ("source_pieces", "source_pieces", "encoder self-attention"),
        "decoder": ("decoder_pieces", "decoder_pieces", "decoder self-attention"),
        "cross": ("output_pieces", "source_pieces", "decoder's attention to the source"),
    }
    queries, keys, told = pieces[kind]
    from_words, to_words = words(stored[queries]), words(stored[keys])
    heads = [by_words(head, from_words, to_words) for head in stored[kind]]
    title = f"{stored['experiment']}, {told}, layer {stored['layer']} of {stored['layers']}"
    return Seen(
        title, run_of(stored["training"]), [word for word, _ in from_words], [word for word, _ in to_words], heads
    )


def words(pieces: list[str]) -> Words:
    """A word begins with U+2581; punctuation and special symbols are words of their own."""
    found: Words = []
    for place, piece in enumerate(pieces):
        letters = re.search(r"\w", piece) is not None and piece not in SPECIAL
        if found and letters and not piece.startswith("▁") and re.search(r"\w|^▁$", found[-1][0]):
            word, places = found.pop()
            found.append((word.strip("▁") + piece, [*places, place]))
        else:
            found.append((piece if piece == "▁" else piece.strip("▁"), [place]))
    return found


def by_words(head: Rows, queries: Words, keys: Words) -> Rows:
    """Weights between words from those between pieces; rows still sum to 1."""
    return [
        [sum(head[t][s] for t in from_places for s in to_places) / len(from_places) for _, to_places in keys]
        for _, from_places in queries
    ]
