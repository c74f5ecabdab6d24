"""Raw text cut into words as treebanks have them, for a parser.

The conventions are those that the Penn Treebank published with its `tokenizer.sed`: signs are words of their own, and
so are n't, 's, 're, 've, 'll, 'd, 'm and the halves of cannot or gonna; a line is one sentence, so that only the full
stop at its end is a word, and those inside belong to abbreviations. As in the treebank the last one stays with U.S.

Newer treebanks (CRAFT, OntoNotes) also take words apart at hyphens, slashes and plus signs, but not behind prefixes
such as anti- or in 3-fold, nor in Ca2+.

Nothing is changed or lost: the words are the line without its spaces.
"""

import re

# Behind these, newer treebanks leave a hyphen in the word: those that CRAFT leaves there more often than not.
_PREFIXES = (
    "anti|auto|bi|co|counter|cross|extra|hetero|inter|intra|mid|mis|multi|non|over|pan|post|pre|pro|pseudo|re|semi|sub"
)
_SIGNS = r"\s()\[\]{}\"“”„«»‘`,;:?!…%#$£€¥<>=±×~∼≤≥–—−°′"
_CONTRACTED = r"(?i:n['’]t|['’](?:s|re|ve|ll|d|m))(?!\w)"
_ADDRESS = r"[^\s()\[\]{}<>\"“”]"


def _pattern(apart: bool) -> re.Pattern[str]:
    r"""Finds one word after another; what no other line takes, the last one does.

    A letter of a word is anything but a sign, apart from 1,000 and 9:30, from O'Neill, from where a contraction begins,
    and from the full stop at the end.
    """
    closing = r"[\s\"“”'’»)\]}]*$"
    ion, compound, newer = "(?!)", "", ""
    if apart:
        ion = r"(?<!\w) [A-Z][a-z]?\d?\+ (?![\w/])"
        compound = rf"(?: (?<!\w) (?: (?i:{_PREFIXES}) (?=-[^\W_]) | \d+(?:\.\d+)? (?=-fold) ) - )?"
        newer = r"\-/+"
    letter = rf"""(?:
        (?!{_CONTRACTED} | \.{closing} | \.\. | --) [^{_SIGNS}{newer}'’]
        | (?<=\d) , (?=\d{{3}}(?!\d)) | (?<=\d) : (?=[0-5]\d(?!\d)) | (?!{_CONTRACTED}) (?<=[^\W\d_]) ['’] (?=\w)
    )"""
    return re.compile(
        rf"""
        (?<!\w) (?: (?:https?|ftp):// | www\. ) {_ADDRESS}* (?!['’.,:;?!]) {_ADDRESS}
        | (?<!\w) [\w.+-]+ @ [\w-]+ (?:\.[\w-]+)+
        | `` | '' | \.\.+ | --+ | \*+ | °[CF]? (?!\w) | (?<!\w) [A-Z]{{1,2}}\$ (?=\d)
        | (?<!\w) (?:[A-Z]\.){{2,}} (?={closing})
        | {_CONTRACTED}
        | (?<!\w) (?i: can(?=not(?!\w)) | (?:gon|wan)(?=na(?!\w)) | got(?=ta(?!\w)) | (?:lem|gim)(?=me(?!\w)) )
        | (?<!\w) ['’] (?i: t(?=(?:is|was)(?!\w)) | (?:\d\ds?|em|til|cause)(?!\w) )
        | {ion}
        | {compound} {letter}+
        | \S
        """,
        re.VERBOSE,
    )


_PATTERNS = {apart: _pattern(apart) for apart in (False, True)}


def cut_words(line: str, apart: bool) -> list[str]:
    """The words of a sentence; with `apart` those that newer treebanks would have."""
    return _PATTERNS[apart].findall(line)


def direct_quotes(line: str) -> str:
    """The line with each straight double quote as “ or ”: where it has space on one side only, that tells.

    Behind a bracket, a dash, a slash or another quote it is as behind a space. Otherwise it opens if none is open.
    """
    opened = False

    def direct(quote: re.Match[str]) -> str:
        nonlocal opened
        before, after = line[: quote.start()][-1:], line[quote.end() :][:1]
        behind_space, before_space = before in " ([{-–—/‘'", after in " "
        opened = behind_space if behind_space != before_space else not opened
        return "“" if opened else "”"

    return re.sub('"', direct, line)
