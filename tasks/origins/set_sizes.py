"""How many pairs the test sets of the paper have, so that none is scored under another one's name.

newstest2014 for en-de is published twice: all 3,003 pairs, which most replications of the paper report, and the 2,737
that were first released (the others were filtered out of the campaign). For en-fr both have 3,003.

Section 23 of the Wall Street Journal, on which parsers are compared, has 2,416 sentences.
"""

from collections.abc import Iterable, Iterator

from tasks.common.settings import Languages
from tasks.origins.texts import Pair
from transformer.io.errors import InputError

# By name and by the language beside English.
PAIRS = {
    ("newstest2013", "de"): 3000,
    ("newstest2013", "fr"): 3000,
    ("newstest2014", "de"): 3003,
    ("newstest2014", "fr"): 3003,
    ("newstest2014-2737", "de"): 2737,
    ("WSJ 23", "tree"): 2416,
}


def count_known(pairs: Iterable[Pair], name: str, languages: Languages, key: str) -> Iterable[Pair]:
    """The pairs as they are; once all are read, InputError if a set of this name has another number of them.

    `key` is that of params.yaml which names the set. Names that are not known here are the user's own.
    """
    other = languages.target if languages.source == "en" else languages.source
    wanted = PAIRS.get((name, other)) if "en" in (languages.source, languages.target) else None
    return pairs if wanted is None else _count(pairs, wanted, f"{key} is {name}")


def _count(pairs: Iterable[Pair], wanted: int, name: str) -> Iterator[Pair]:
    number = 0
    for pair in pairs:
        yield pair
        number += 1
    if number != wanted:
        raise InputError(f"{name}, which has {wanted:,} pairs, but the text has {number:,}: name the set that it is")
