"""One rule for text on its way into the sub-word model, the same in training and in translation.

The invisible characters below are dropped, then letters and their marks are composed (Unicode NFC), then every run
of white space (no-break spaces and control characters included) is one space. Nothing else changes: no folding of
quotes, fractions or ellipses, since a model can never write a form that it was never shown.
"""

import re
import unicodedata

# Byte-order mark, zero-width space and joiners, word joiner, soft hyphen, direction marks and isolates.
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060-\u2064\u2066-\u2069\u202a-\u202e\u00ad]")
# C0 and C1 controls, line and paragraph separators and all that Python calls white space.
_SPACE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\\s]+")


def normalise(line: str) -> str:
    """The line as the sub-word model sees it; empty if nothing visible is in it."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", _INVISIBLE.sub("", line))).strip(" ")
