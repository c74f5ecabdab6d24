"""What must hold of lists of sentences before anything is counted on them, or on their words."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from transformer.io.errors import InputError

# Scripts in which no space parts the words, as the names of their letters in Unicode begin.
_WITHOUT_SPACES = ("BOPOMOFO", "CJK ", "HIRAGANA", "KATAKANA", "KHMER", "LAO", "MYANMAR", "THAI", "TIBETAN", "YI ")


def check_counts(**sides: Sequence[object]) -> None:
    """InputError that names all counts if they are not the same, or nothing is there.

    A library would cut to the shortest, and a mean over nothing is no number.
    """
    counts = {name: len(lines) for name, lines in sides.items()}
    told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    if len(set(counts.values())) > 1:
        raise InputError(f"different numbers of lines: {told}")
    if not all(counts.values()):
        raise InputError(f"nothing to count: {told}")


def without_spaces(lines: Iterable[str]) -> bool:
    """Whether most letters are of scripts that part no words by spaces, so that what counts words counts sentences.

    By the text and not by the code of a language, of which there are many (zh, zh-cn, cmn, yue). Korean has spaces.
    """
    letters = Counter(character for line in lines for character in line if character.isalpha())
    such = sum(n for letter, n in letters.items() if unicodedata.name(letter, "").startswith(_WITHOUT_SPACES))
    return 2 * such > letters.total()
