"""Labelled bracket scores as EVALB (Sekine and Collins) counts them, sentence by sentence and in sum.

Recall is matched brackets in gold brackets, precision matched brackets in test brackets (Black et al. 1991: PARSEVAL).
EVALB leaves sentences that fail out of both, so a parser may gain by failing; `recall_all` counts them.
Unlike EVALB, it neither stops after some errors nor fails on long sentences (200 words or brackets).
WSJ section 23 (2,416 sentences) takes about 0.3 s.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tasks.evalb.reader import Bracket, Reading, read_line, restore_quotes
from tasks.evalb.rules import Rules
from transformer.io.progress import bar
from transformer.text.sentences import check_counts
from transformer.text.trees import read_brackets, write_brackets

VALID, ERROR, SKIPPED = range(3)
FEW = 20_000  # sentences, scored in about two seconds


@dataclass(frozen=True)
class SentenceScore:
    """One row of EVALB's table.

    number: from 1.
    length: of the gold sentence, in words by the rules for length.
    status: VALID, ERROR (the lines do not fit) or SKIPPED (no parse).
    matched, gold, test: brackets.
    crossing: test brackets that cross a gold one.
    words: of the gold sentence, without those that do not count.
    correct_tags: of these words.
    missed: gold brackets of a sentence that failed.
    problem: why it failed; "" if it did not.
    """

    number: int
    length: int
    status: int = VALID
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    missed: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Summary:
    """Sums of counts, and what follows from them: percent, except `crossing` (crossing brackets a sentence).

    As in EVALB a share of nothing is 0; so is an F1 of two zeros, which EVALB prints as NaN. `_all`: all gold brackets
    of the sentences that failed count as missed, and these sentences as no complete match.
    """

    sentences: int
    errors: int
    skipped: int
    valid: int
    matched: int
    gold: int
    test: int
    crossing_brackets: int
    words: int
    correct_tags: int
    recall: float
    precision: float
    f1: float
    complete_match: float
    crossing: float
    no_crossing: float
    two_or_less_crossing: float
    tagging: float
    recall_all: float
    f1_all: float
    complete_match_all: float


def score_trees(gold_lines: Sequence[str], test_lines: Sequence[str], rules: Rules) -> list[SentenceScore]:
    """Score each test tree against the gold tree of the same line.

    Args:
        gold_lines: one bracketed tree each, a word always in a bracket of its own: (S (NP (PRP They)) (VP (VBD ran))).
        test_lines: the same; "" where there is no parse.
        rules: what counts.

    Raises:
        InputError: the numbers of lines differ, or there are none. A line that cannot be scored is no reason: see
            SentenceScore.status.
    """
    check_counts(gold_trees=gold_lines, test_trees=test_lines)
    scored = []
    with bar(len(gold_lines), "scoring", "trees", hidden=len(gold_lines) < FEW) as shown:
        for number, (gold_line, test_line) in enumerate(zip(gold_lines, test_lines, strict=True), start=1):
            scored.append(_score(number, gold_line, test_line, rules))
            shown.update()
    return scored


def with_gold_tags(gold_lines: Sequence[str], test_lines: Sequence[str]) -> list[str]:
    """The test trees with the tags of the gold ones, for trees that have none of their own.

    A line that is no tree, or not over the same words, stays as it is. InputError if the numbers of lines differ.
    """
    check_counts(gold_trees=gold_lines, test_trees=test_lines)
    return [_tagged(*pair) for pair in zip(gold_lines, test_lines, strict=True)]


def _tagged(gold_line: str, test_line: str) -> str:
    try:
        gold, test = read_brackets(gold_line), read_brackets(test_line)
    except ValueError:
        return test_line
    return write_brackets(replace(test, tags=gold.tags)) if gold.words == test.words else test_line


def _score(number: int, gold_line: str, test_line: str, rules: Rules) -> SentenceScore:
    gold, test = read_line(gold_line, rules), read_line(test_line, rules)
    length, missed = gold.length, len(gold.brackets(rules))
    if not test.words:
        return SentenceScore(number, length, SKIPPED, missed=missed, problem="no words in the test tree")
    if len(gold.words) != len(test.words):
        restore_quotes(gold, test, rules)
    if problem := _mismatch(gold, test, rules):
        return SentenceScore(number, length, ERROR, missed=missed, problem=problem)
    gold_brackets, test_brackets = gold.brackets(rules), test.brackets(rules)
    score = SentenceScore(
        number,
        length,
        matched=_matched(gold_brackets, test_brackets, rules),
        gold=len(gold_brackets),
        test=len(test_brackets),
        crossing=_crossing(gold_brackets, test_brackets, len(gold.words)),
        words=len(gold.words),
        correct_tags=sum(map(rules.same_label, gold.tags, test.tags)),
    )
    problems = [f"{side}: {reading.problem}" for side, reading in (("gold", gold), ("test", test)) if reading.problem]
    # EVALB shows what such a row might have counted, and leaves it out of the sums.
    return replace(score, status=ERROR, missed=missed, problem="; ".join(problems)) if problems else score


def _mismatch(gold: Reading, test: Reading, rules: Rules) -> str:
    """Why the words are not the same; "" if they are."""
    if len(gold.words) != len(test.words):
        return f"different numbers of words that count: {len(gold.words)} in gold, {len(test.words)} in test"
    for one, other in zip(gold.words, test.words, strict=True):
        if not rules.same_word(one, other):
            return f"different words: {one} in gold, {other} in test"
    return ""


def _matched(gold: list[Bracket], test: list[Bracket], rules: Rules) -> int:
    """How many brackets match, each at most once: a gold one takes the first test one of its span and label."""

    def place(bracket: Bracket) -> Bracket:
        label, start, end = bracket
        # Only labels with others equal to them can take each other's: the rest need not be searched, however deep.
        return ("" if not rules.labelled or label in rules.paired_labels else label), start, end

    waiting: dict[Bracket, list[str]] = defaultdict(list)
    for bracket in test:
        waiting[place(bracket)].append(bracket[0])
    matched = 0
    for bracket in gold:
        labels = waiting.get(place(bracket), [])
        for index, label in enumerate(labels):
            if not rules.labelled or rules.same_label(bracket[0], label):
                del labels[index]
                matched += 1
                break
    return matched


def _crossing(gold: list[Bracket], test: list[Bracket], words: int) -> int:
    """How many test brackets cross a gold one: they share words, and each has some that the other has not."""
    leftmost = [words] * (words + 1)  # by its end, the first start of a gold bracket
    rightmost = [0] * (words + 1)  # by its start, the last end
    for _, start, end in gold:
        leftmost[end] = min(leftmost[end], start)
        rightmost[start] = max(rightmost[start], end)
    crossing = 0
    for _, start, end in test:
        within = slice(start + 1, end)
        if end - start > 1 and (min(leftmost[within]) < start or max(rightmost[within]) > end):
            crossing += 1
    return crossing


def sum_up(scored: Iterable[SentenceScore], cutoff: int | None = None) -> Summary:
    """The scores of a whole set, or of its sentences of at most `cutoff` words."""
    scored = [score for score in scored if cutoff is None or score.length <= cutoff]
    valid = [score for score in scored if score.status == VALID]
    matched, gold, test, crossing, words, tags = (
        sum(getattr(score, name) for score in valid)
        for name in ("matched", "gold", "test", "crossing", "words", "correct_tags")
    )
    complete = sum(score.gold == score.test == score.matched for score in valid)
    missed = sum(score.missed for score in scored)
    recall, recall_all, precision = percent(matched, gold), percent(matched, gold + missed), percent(matched, test)
    return Summary(
        sentences=len(scored),
        errors=sum(score.status == ERROR for score in scored),
        skipped=sum(score.status == SKIPPED for score in scored),
        valid=len(valid),
        matched=matched,
        gold=gold,
        test=test,
        crossing_brackets=crossing,
        words=words,
        correct_tags=tags,
        recall=recall,
        precision=precision,
        f1=_f1(precision, recall),
        complete_match=percent(complete, len(valid)),
        crossing=crossing / len(valid) if valid else 0.0,
        no_crossing=percent(sum(score.crossing == 0 for score in valid), len(valid)),
        two_or_less_crossing=percent(sum(score.crossing <= 2 for score in valid), len(valid)),
        tagging=percent(tags, words),
        recall_all=recall_all,
        f1_all=_f1(precision, recall_all),
        complete_match_all=percent(complete, len(scored)),
    )


def percent(part: int, whole: int) -> float:
    """As EVALB has it: a share of nothing is 0."""
    return 100.0 * part / whole if whole else 0.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
