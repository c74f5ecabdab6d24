"""Constituency trees: written in brackets as in the Penn Treebank, and as sequences that a model can write.

A tree is kept as its words, their tags and its phrases from left to right, outer ones first, so that nothing here calls
itself: a model's output may be nested deeper than Python allows.

The words are the source of a model, the target is the tree (`linearise`), in one of three forms:

    vinyals        (S (NP XX )NP (VP XX )VP XX )S
    tensor2tensor  (S (NP (NNP) )NP (VP (VBZ) )VP (.) )S
    words          (S (NP Ann )NP (VP sings )VP . )S

The first is that of Vinyals et al. 2015, "Grammar as a Foreign Language" (arXiv 1412.7449, section 2.2): labelled
closing brackets, XX in the place of each word. The second is what the released code makes of a tree, S NP NNP /NP VP
VBZ /VP . /S, with the tags of the words in their places; it is spelled with brackets here so that no symbol can be
taken for a word or another symbol. The third keeps the words, as language models of trees do (Choe and Charniak 2016,
"Parsing as Language Modeling"): in the other two a model must count words to know which one comes next, here it can
look where the last one stood. All leave out the outermost bracket (TOP).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Linearisation = Literal["vinyals", "tensor2tensor", "words"]

ANY_TAG = "XX"
TOP = "TOP"
OUTERMOST = {TOP, "ROOT", "S1"}  # of treebanks and parsers
_TOKEN = re.compile(r"[()]|[^()\s]+", re.ASCII)
# Brackets in a word would be taken for those of the tree.
_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_UNESCAPES = {escaped: bracket for bracket, escaped in _ESCAPES.items()}
_BRACKET = re.compile(r"[()\[\]{}]")
_ESCAPED = re.compile("-[LR][RSC]B-")


class Phrase(NamedTuple):
    """A bracket with a label, over the words from start to end - 1."""

    label: str
    start: int
    end: int


@dataclass
class Tree:
    """A tree below its outermost bracket, which may have several children.

    Attributes:
        words: as in plain text, brackets unescaped.
        tags: of each word.
        phrases: ordered by start, outer ones first.
    """

    words: list[str]
    tags: list[str]
    phrases: list[Phrase]


def read_brackets(text: str) -> Tree:
    """The one tree in a text such as `(TOP (S (NP (NNP Ann)) (VP (VBZ sings)) (. .)))`; labels as they stand.

    Brackets without a label are left out, and so are TOP, ROOT and S1 around the tree. ValueError if it is no tree,
    with the reason.
    """
    tree = Tree([], [], [])
    opened: list[int] = []  # places in tree.phrases, or -1 for a bracket that is left out
    tokens = _TOKEN.findall(text)
    place = 0
    while place < len(tokens):
        token, after = tokens[place], tokens[place + 1 : place + 4]
        if tree.words and not opened:
            raise ValueError("something follows the tree")
        if token == ")":
            _close(tree, opened)
            place += 1
        elif token != "(":
            raise ValueError(f"{token!r} stands where a bracket must")
        elif len(after) == 3 and after[2] == ")" and not {"(", ")"} & {after[0], after[1]}:
            tree.words.append(unescape(after[1]))
            tree.tags.append(after[0])
            place += 4
        else:
            label = "" if not after or after[0] in "()" else after[0]
            kept = label and (tree.words or tree.phrases or label not in OUTERMOST)
            opened.append(len(tree.phrases) if kept else -1)
            if kept:
                tree.phrases.append(Phrase(label, len(tree.words), -1))
            place += 1 + bool(label)
    if opened:
        raise ValueError(f"{len(opened)} bracket(s) not closed")
    if not tree.words:
        raise ValueError("no words")
    return tree


def _close(tree: Tree, opened: list[int]) -> None:
    if not opened:
        raise ValueError("a bracket is closed that was not opened")
    place = opened.pop()
    if place >= 0:
        label, start, _ = tree.phrases[place]
        if start == len(tree.words):
            raise ValueError(f"the bracket {label} is empty")
        tree.phrases[place] = Phrase(label, start, len(tree.words))


def write_brackets(tree: Tree) -> str:
    """The tree on one line, in a bracket TOP, with brackets in words escaped as -LRB- and so on."""
    parts = [f"({TOP}"]
    for index, (opened, closed) in enumerate(_brackets(tree)):
        parts += [f"({label}" for label in opened]
        parts.append(f"({tree.tags[index]} {escape(tree.words[index])}){')' * len(closed)}")
    return " ".join(parts) + ")"


def linearise(tree: Tree, form: Linearisation) -> list[str]:
    """The symbols of the tree, and in the form `words` its words among them."""
    symbols: list[str] = []
    for place, (opened, closed) in enumerate(_brackets(tree)):
        symbols += [f"({label}" for label in opened]
        symbols.append(_slot(tree, place, form))
        symbols += [f"){label}" for label in closed]
    return symbols


def _slot(tree: Tree, place: int, form: Linearisation) -> str:
    """What stands in the place of a word."""
    if form == "words":
        return kept_word(tree.words[place])
    return ANY_TAG if form == "vinyals" else f"({tree.tags[place]})"


def kept_word(word: str) -> str:
    """The word as it stands in the form `words`: not to be taken for a bracket of the tree."""
    return escape(word) if word[:1] in ("(", ")") and len(word) > 1 else word


def _brackets(tree: Tree) -> Iterable[tuple[list[str], list[str]]]:
    """For each word the labels that open before it, outer ones first, and those that close behind it, inner first."""
    opened: list[Phrase] = []
    phrases = iter(tree.phrases)
    following = next(phrases, None)
    for index in range(len(tree.words)):
        new = []
        while following and following.start == index:
            new.append(following.label)
            opened.append(following)
            following = next(phrases, None)
        closed = []
        while opened and opened[-1].end == index + 1:
            closed.append(opened.pop().label)
        yield new, closed


def is_word(symbol: str, form: Linearisation) -> bool:
    """Whether the symbol stands in the place of a word."""
    if form == "words":
        return not opens(symbol) and not closes(symbol) and symbol != ""
    return (
        symbol == ANY_TAG if form == "vinyals" else symbol.startswith("(") and symbol.endswith(")") and symbol != "()"
    )


def opens(symbol: str) -> bool:
    """Whether the symbol begins a phrase."""
    return symbol.startswith("(") and not symbol.endswith(")") and len(symbol) > 1


def closes(symbol: str) -> bool:
    """Whether the symbol ends a phrase."""
    return symbol.startswith(")") and len(symbol) > 1


def restore(symbols: Sequence[str], words: Sequence[str], form: Linearisation) -> tuple[Tree, bool]:
    """The tree over exactly these words that a sequence of symbols means, and whether it needed repair.

    Where the sequence is not that of a tree over the words:

    - what is no symbol is passed over, and so is a closing bracket of which none such is open;
    - a closing bracket also closes what was opened inside of it, and a bracket around nothing is passed over;
    - in the form `words`, the sequence's words are aligned with the sentence's: those that are too many are passed
      over, and those that are missing follow the one before them;
    - in the other forms words that are too many are passed over, those that are missing are added at the end of the
      outermost bracket, with the tag XX;
    - what is still open at the end is closed.
    """
    found = [symbol for symbol in symbols if is_word(symbol, form)]
    wanted = list(map(kept_word, words)) if form == "words" else found
    builder = _Builder(words, form, found != wanted)
    shares = _alignment(found, wanted) if found != wanted else (int(place < len(words)) for place in range(len(found)))
    for symbol in symbols:
        builder.add(symbol, next(shares) if is_word(symbol, form) else 0)
    return builder.finish()


def _alignment(found: list[str], wanted: list[str]) -> Iterator[int]:
    """For each word of a sequence, how many of the sentence's words it stands for: those that it is aligned with."""
    shares = [0] * len(found)
    for _, start, end, first, last in SequenceMatcher(None, found, wanted, autojunk=False).get_opcodes():
        for place in range(start, min(end, start + last - first)):
            shares[place] += 1
        if found and last - first > end - start:
            shares[max(0, end - 1)] += last - first - (end - start)
    return iter(shares)


class _Builder:
    """A tree while it is put together from symbols."""

    def __init__(self, words: Sequence[str], form: Linearisation, repaired: bool) -> None:
        self._words, self._form = list(words), form
        self._tags: list[str] = []
        self._phrases: list[Phrase] = []
        self._opened: list[int] = []  # places in _phrases
        self._repaired = repaired

    def add(self, symbol: str, share: int) -> None:
        """Go on with a symbol, which stands for so many words."""
        left = len(self._words) - len(self._tags)
        if is_word(symbol, self._form):
            self._repaired |= share != 1
            self._tags += [symbol[1:-1] if self._form == "tensor2tensor" else ANY_TAG] * share
        elif opens(symbol) and left:
            self._opened.append(len(self._phrases))
            self._phrases.append(Phrase(symbol[1:], len(self._tags), -1))
        elif closes(symbol) and (depth := self._depth(symbol[1:])) is not None:
            self._close(depth)
        else:
            self._repaired = True

    def _depth(self, label: str) -> int | None:
        """Of the innermost open phrase with the label."""
        return next(
            (
                depth
                for depth in reversed(range(len(self._opened)))
                if self._phrases[self._opened[depth]].label == label
            ),
            None,
        )

    def _close(self, depth: int) -> None:
        """Close the phrases of this depth and deeper ones."""
        self._repaired |= depth < len(self._opened) - 1
        while len(self._opened) > depth:
            place = self._opened.pop()
            label, start, _ = self._phrases[place]
            if start == len(self._tags):
                self._repaired = True
                del self._phrases[place:]
            else:
                self._phrases[place] = Phrase(label, start, len(self._tags))

    def finish(self) -> tuple[Tree, bool]:
        """The tree, and whether it needed repair."""
        if self._opened:
            self._repaired = True
            self._close(0)
        here, end = len(self._tags), len(self._words)
        if here < end:
            self._repaired = True
            self._tags += [ANY_TAG] * (end - here)
            # The first of those that end here is the outermost.
            last = next((place for place, phrase in enumerate(self._phrases) if phrase.end == here), None)
            if last is not None:
                self._phrases[last] = self._phrases[last]._replace(end=end)
        return Tree(self._words, self._tags, self._phrases), self._repaired


def escape(word: str) -> str:
    """The word as it stands in a file of trees."""
    return _BRACKET.sub(lambda match: _ESCAPES[match[0]], word)


def unescape(word: str) -> str:
    """The word as it stands in plain text."""
    return _ESCAPED.sub(lambda match: _UNESCAPES.get(match[0], match[0]), word)
