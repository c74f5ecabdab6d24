"""What every kind of origin gives: pairs of sentences, split, and where they come from."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Pair = tuple[str, str]


@dataclass(frozen=True)
class Texts:
    """The text of a corpus before cleaning.

    Attributes:
        pairs: of train, valid and test, (source, target), each to be read once. Files may be read while they are
            consumed, which may raise InputError.
        about: what a reader of the corpus's page should know of this kind of text, in whole sentences.
        sources: files, their splits, hashes and licences, for tables.
        dropped: what was left out, and why; complete once the pairs are consumed.
        notes: what of the text should be looked at, a line for each, with file and line; likewise.
    """

    pairs: dict[str, Iterable[Pair]]
    about: str
    sources: list[dict[str, str]]
    dropped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
