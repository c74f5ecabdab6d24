"""What every kind of origin gives: pairs of sentences, split, and where they come from."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

Pair = tuple[str, str]

# Traces of a wrong decoding or of binary data, half a surrogate pair among them; such a line is not to be trusted. Not
# those that Unicode counts as white space (tab, VT, FF, CR, NEL): a space in translation, so one in training.
_DAMAGED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")


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


def is_damaged(text: str) -> bool:
    """Whether it has characters that no one wrote."""
    # What is printable has no control character, and is most of a corpus: the search would take longer.
    return ("\ufffd" in text or not text.isprintable()) and _DAMAGED.search(text) is not None
