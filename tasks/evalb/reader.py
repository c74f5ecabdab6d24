"""Trees as EVALB reads them: words, tags and spans of brackets, once the words that do not count are gone.

Not the reader of transformer/text/trees.py: this one takes what a tree may not be (no root or several, a word that is
missing, brackets that do not close) and knows which of it EVALB scores. It follows no bracket by recursion, so that
depth has no limit.
"""

import re
from dataclasses import dataclass, field

from tasks.evalb.rules import Rules

# (tag word), (label, a closing bracket, anything else. ASCII: a no-break space is a letter, as it is in C. A space
# behind the word, as some treebanks have it, makes EVALB stop. Nothing is tried twice (++), however long the line.
TOKEN = re.compile(r"\(([^\s()]*+)\s++([^\s()]*+)\s*+\)|\(([^\s()]*+)|(\))|[^\s()]++", re.ASCII)
QUOTATION_MARKS = frozenset("'\"/")
UNCLOSED = -1

Bracket = tuple[str, int, int]


@dataclass
class Quote:
    """A word that may be a quotation mark, whether it counts or not.

    place: index of the word, or of the next word that counts.
    brackets: how many were opened before it.
    inside: indices of those that were still open.
    """

    word: str
    tag: str
    place: int
    brackets: int
    inside: list[int]


@dataclass
class Reading:
    """One line. Brackets in the order in which they open; a span is [start, end) in words that count.

    length: in words, by the rules for length.
    problem: what is wrong with the line; "" if nothing.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0
    problem: str = ""

    def brackets(self, rules: Rules) -> list[Bracket]:
        """(label, start, end) of the brackets that count, labels without functions and indices (NP-SBJ-1, NP=2)."""
        return [
            (cut, start, end)
            for label, start, end in zip(self.labels, self.starts, self.ends, strict=True)
            if start != end and (cut := label.partition("-")[0].partition("=")[0]) not in rules.deleted_brackets
        ]


def read_line(line: str, rules: Rules) -> Reading:
    """Read one bracketed tree, or what there is of it; `problem` says what is wrong."""
    reading = Reading()
    inside: list[int] = []
    for token in TOKEN.finditer(line):
        kind = token.lastindex
        if kind == 2:
            tag, word = token.group(1, 2)
            _add_word(reading, word, tag, inside, rules)
        elif kind == 3:
            inside.append(len(reading.labels))
            reading.labels.append(token[3])
            reading.starts.append(len(reading.words))
            reading.ends.append(UNCLOSED)
        elif kind is None:
            reading.problem = f"{token[0]!r} does not stand in a bracket of its own"
        elif inside:
            reading.ends[inside.pop()] = len(reading.words)
        else:
            reading.problem = "brackets are closed that were not opened"
    if inside:
        reading.problem = reading.problem or f"{len(inside)} brackets are not closed"
    return reading


def _add_word(reading: Reading, word: str, tag: str, inside: list[int], rules: Rules) -> None:
    reading.length += tag not in rules.deleted_for_length
    if tag in rules.quotes and word in QUOTATION_MARKS:
        reading.quotes.append(Quote(word, tag, len(reading.words), len(reading.labels), list(inside)))
    if tag not in rules.deleted:
        reading.words.append(word)
        reading.tags.append(tag)


def restore_quotes(gold: Reading, test: Reading, rules: Rules) -> None:
    """Where one side has a quotation mark that counts and the other one that does not, count both.

    EVALB's repair for taggers that call an opening quote, say, a possessive; only for sentences whose numbers of words
    differ. A mark of `test` is compared with all of `gold` at the place where it was read first, though it may move.
    """
    for number, mark in enumerate(test.quotes):
        place = mark.place
        for other_number, other in enumerate(gold.quotes):
            if other.place != place or other.tag == mark.tag:
                continue
            if other.tag in rules.deleted and mark.tag not in rules.deleted:
                _restore(gold, other_number)
            elif mark.tag in rules.deleted and other.tag not in rules.deleted:
                _restore(test, number)


def _restore(reading: Reading, number: int) -> None:
    quote = reading.quotes[number]
    reading.words.insert(quote.place, quote.word)
    reading.tags.insert(quote.place, quote.tag)
    for bracket in range(quote.brackets, len(reading.starts)):
        reading.starts[bracket] += 1
        reading.ends[bracket] += 1
    for bracket in quote.inside:
        reading.ends[bracket] += 1
    for later in reading.quotes[number:]:
        later.place += 1
