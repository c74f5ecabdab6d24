"""Text on its way into the sub-word model and out of it, by the same rules in training and in translation.

`normalise` is for all text: invisible characters are dropped, then letters and their marks are composed (Unicode NFC),
then every run of white space (no-break spaces and control characters included) is one space. So is U+2581, by which
sub-words mark where a word begins: in a text it could not be told from a space. Nothing else changes: no folding of
quotes, fractions or ellipses, since a model can never write a form that it was never shown.

`Preparation` is for corpora whose settings ask for lower case or tokens, as published work on small corpora has them,
or whose target is trees.
"""

import re
import unicodedata

from transformer.errors import InputError
from transformer.settings import TextSettings
from transformer.trees import linearise, read_brackets

# Byte-order mark, zero-width space and joiners, word joiner, soft hyphen, direction marks and isolates.
INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060-\u2064\u2066-\u2069\u202a-\u202e\u00ad]")
# With this, sub-words mark where a word begins.
WORD_START = "\u2581"
# C0 and C1; str.split knows all other white space, line and paragraph separators included.
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f{WORD_START}]")


def normalise(line: str) -> str:
    """The line as the sub-word model sees it; empty if nothing visible is in it."""
    # Nearly every line of a corpus is printable (which a no-break space is not), and is spared the slow rules.
    if line.isprintable() and "  " not in line and WORD_START not in line:
        return unicodedata.normalize("NFC", line).strip(" ")
    line = _CONTROLS.sub(" ", INVISIBLE.sub("", line))
    return " ".join(unicodedata.normalize("NFC", line).split())


class Preparation:
    """One side's text as its model wants it, and back.

    Args:
        settings: of the corpus.
        language: code of the side; decides where the tokeniser leaves a full stop on a word (`dr.`). `tree` is that of
            trees in brackets.
    """

    def __init__(self, settings: TextSettings, language: str) -> None:
        self._lowercase = settings.lowercase
        self._trees = settings.trees if language == "tree" else None
        self._moses = None
        if settings.tokenise == "moses":
            import sacremoses  # here, because it takes half a second and few models need it

            self._moses = sacremoses.MosesTokenizer(language), sacremoses.MosesDetokenizer(language)

    def prepare(self, line: str) -> str:
        """Normalised, then in lower case, then tokens with single spaces between them; as far as settings ask for it.

        In this order the German test2016 of Multi30k has 12,103 tokens, as published; in the other it has one less.

        InputError for a line that should be a tree and is none.
        """
        if self._trees:
            try:
                return " ".join(linearise(read_brackets(line), self._trees))
            except ValueError as error:
                raise InputError(f"a line among the trees is none ({error}): {line[:60]!r}") from None
        line = normalise(line)
        if self._lowercase:
            line = line.lower()
        if self._moses:
            line = self._moses[0].tokenize(line, aggressive_dash_splits=False, return_str=True, escape=False)
        return line

    def restore(self, line: str) -> str:
        """Plain text of a prepared line: tokens joined as one writes them. Case does not come back."""
        if not self._moses:
            return line
        return str(self._moses[1].detokenize(line.split(" "), unescape=False))
