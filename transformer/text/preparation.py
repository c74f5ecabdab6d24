"""Text on its way into the sub-word model and out of it, by the same rules in training and in translation.

`normalise` is for all text: what displays nothing is dropped, then letters and their marks are composed (Unicode NFC),
then every run of white space (no-break spaces, blank Braille cells and control characters included) is one space. So is
U+2581, by which sub-words mark where a word begins: in a text it could not be told from a space. Half of a surrogate
pair, which a string of Python or JSON can hold but no file in UTF-8, is U+FFFD, as undecodable bytes are. Nothing else
changes: no folding of quotes, fractions or ellipses, since a model can never write a form that it was never shown.

`Preparation` is for corpora whose settings ask for lower case or tokens, as published work on small corpora has them,
or whose target is trees.
"""

import unicodedata

import regex  # knows more of Unicode's properties than re

from transformer.io.errors import InputError
from transformer.settings import TextSettings
from transformer.text.trees import linearise, read_brackets

# With this, sub-words mark where a word begins.
WORD_START = "\u2581"
# C0 and C1, and what looks like a space and is none to str.split, which knows all other white space.
_BLANK = rf"\p{{Cc}}{WORD_START}\u2800"
# What Unicode has renderers ignore: byte-order mark, zero-width space and joiners, soft hyphen, direction marks, tags,
# fillers. Not a variation selector, unless nothing is before it: the look that it gives an emoji or ideograph is seen.
INVISIBLE = regex.compile(rf"(?<![^\s{_BLANK}])\p{{DI}}+|[\p{{DI}}--\p{{Variation_Selector}}]", regex.VERSION1)
_BLANKS = regex.compile(f"[{_BLANK}]")
_SURROGATES = regex.compile(r"\p{Cs}")
_ODD = regex.compile(rf"[\p{{DI}}{_BLANK}]")


def normalise(line: str) -> str:
    """The line as the sub-word model sees it; empty if nothing visible is in it."""
    # Nearly every line of a corpus is printable (which a no-break space is not), and is spared the slow rules.
    if line.isprintable() and "  " not in line and (line.isascii() or not _ODD.search(line)):
        return unicodedata.normalize("NFC", line).strip(" ")
    line = _BLANKS.sub(" ", INVISIBLE.sub("", _SURROGATES.sub("\ufffd", line)))
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
