"""Long lines in parts that a model can translate one by one."""

import re
from collections.abc import Callable

# Behind a full stop and what may close a quotation or bracket after it; scripts that set no space there included.
_SENTENCE_ENDS = re.compile(r"""[.!?…]["'”’»)\]]*\s+|[。！？]["'”’»」』）]*""")
_SPACES = re.compile(r"\s+")


def split(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of `text` that all fit: cut at the sentence end nearest the middle, and so on with both halves.

    Where there is no sentence end it is cut at a space, and where there is none, between two characters: nothing is
    left out but white space at a cut. A single character is a part even if it does not fit.
    """
    text = text.strip()
    if len(text) <= 1 or fits(text):
        return [text]
    middle = len(text) / 2
    for boundary in (_SENTENCE_ENDS, _SPACES):
        cuts = [found.end() for found in boundary.finditer(text) if found.end() < len(text)]
        if cuts:
            cut = min(cuts, key=lambda cut: abs(cut - middle))
            break
    else:
        cut = len(text) // 2
    return split(text[:cut], fits) + split(text[cut:], fits)
