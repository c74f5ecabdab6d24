"""Are the two sides in each other's place? Asked of the first pairs, by words that only one of the languages has."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from tasks.common.settings import Languages
from tasks.origins.texts import Pair
from transformer.io.errors import InputError

SAMPLE = 2000  # pairs
ENOUGH = 20  # words, below which nothing is said

# Frequent words of a language that the others here have in names and abbreviations at most, whatever their case.
COMMON = {
    "en": {"the", "of", "and", "that", "is", "with", "you", "this", "have", "are", "your", "they", "from", "which"},
    "de": {"der", "das", "und", "ist", "nicht", "auch", "ein", "eine", "oder", "dem", "auf", "für", "sie", "wird"},
    "fr": {"le", "la", "les", "et", "une", "que", "est", "dans", "cette", "sont", "pas", "vous", "avec", "sur"},
}


def check_direction(pairs: Iterable[Pair], languages: Languages, what: str) -> Iterator[Pair]:
    """The pairs as they are; InputError if each side's words are the other one's language.

    `what` names the text. Languages that are not known here are not looked at.
    """
    pairs = iter(pairs)
    sample = list(islice(pairs, SAMPLE))
    source, target = COMMON.get(languages.source), COMMON.get(languages.target)
    if source and target:
        sides = [[word for pair in sample for word in _words(pair[side])] for side in (0, 1)]
        right = sum(word in source for word in sides[0]), sum(word in target for word in sides[1])
        wrong = sum(word in target for word in sides[0]), sum(word in source for word in sides[1])
        if sum(wrong) >= ENOUGH and wrong[0] > right[0] and wrong[1] > right[1]:
            raise InputError(
                f"{what}: the sides are in each other's place: {languages.source!r} looks like {languages.target!r} "
                "and the other way round; swap the files, or languages.source and languages.target"
            )
    return chain(sample, pairs)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.casefold())
