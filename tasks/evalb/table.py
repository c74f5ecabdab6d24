"""Scores as EVALB prints them: its columns and the names of its figures, so that what reads its output reads ours."""

import re
from collections.abc import Iterable

from tasks.evalb.rules import Rules
from tasks.evalb.scores import SentenceScore, Summary, percent, sum_up

HEAD = """\
                              ---- brackets -----  cross-        correct  tag
   n  len. status rec.  prec. match   gold test   ing    words  tags   accuracy
"""
RULE = "=" * 76
SENTENCE = "sentence "  # begins the names of the figures in a row
ROW = re.compile(r" *\d+(?: +[-.\w]+){11}")
NAN = re.compile(r"-?\bnan\b")
FIGURE = re.compile(r"(\w.+?) *= +(\S+)")


def table(scored: list[SentenceScore], rules: Rules) -> str:
    """A row for each sentence, the totals, and the summary of all and of the short ones."""
    total = sum_up(scored)
    lines = [*map(_row, scored), RULE, _totals(total), "=== Summary ===", "", "-- All --", *_summary(total)]
    lines += ["", f"-- len<={rules.cutoff} --", *_summary(sum_up(scored, rules.cutoff))]
    return HEAD + "\n".join([RULE, *lines]) + "\n"


def with_failed(scored: list[SentenceScore]) -> str:
    """The figures that count sentences that failed, which EVALB does not have; "" if none failed."""
    total = sum_up(scored)
    if not total.errors + total.skipped:
        return ""
    lines = (
        "-- All, and of sentences that failed every gold bracket is missed --",
        _figure("Bracketing Recall", total.recall_all),
        _figure("Bracketing FMeasure", total.f1_all),
        _figure("Complete match", total.complete_match_all),
    )
    return "\n".join(["", *lines]) + "\n"


def _row(score: SentenceScore) -> str:
    recall, precision = percent(score.matched, score.gold), percent(score.matched, score.test)
    tagging = percent(score.correct_tags, score.words)
    return (
        f"{score.number:4d}  {score.length:3d}    {score.status}  {recall:6.2f} {precision:6.2f}   {score.matched:3d}"
        f"    {score.gold:3d}  {score.test:3d}    {score.crossing:3d}   {score.words:4d}  {score.correct_tags:4d}"
        f"   {tagging:6.2f}"
    )


def _totals(total: Summary) -> str:
    words = f"  {total.words:5d} {total.correct_tags:5d}   {total.tagging:6.2f}"
    if not (total.gold and total.test):
        return words
    brackets = f"{total.matched:6d} {total.gold:5d} {total.test:5d}  {total.crossing_brackets:5d}"
    return f"{'':16}{total.recall:6.2f} {total.precision:6.2f} {brackets}{words}"


def _summary(total: Summary) -> Iterable[str]:
    return (
        _figure("Number of sentence", total.sentences),
        _figure("Number of Error sentence", total.errors),
        _figure("Number of Skip  sentence", total.skipped),
        _figure("Number of Valid sentence", total.valid),
        _figure("Bracketing Recall", total.recall),
        _figure("Bracketing Precision", total.precision),
        _figure("Bracketing FMeasure", total.f1),
        _figure("Complete match", total.complete_match),
        _figure("Average crossing", total.crossing),
        _figure("No crossing", total.no_crossing),
        _figure("2 or less crossing", total.two_or_less_crossing),
        _figure("Tagging accuracy", total.tagging),
    )


def _figure(name: str, value: float) -> str:
    return f"{name:25} = {value:6d}" if isinstance(value, int) else f"{name:25} = {value:6.2f}"


def figures(printed: str) -> dict[str, list[str]]:
    """The figures in what EVALB or `table` prints: those of a sentence under its number, the others by block and name.

    A NaN of EVALB (-nan on some machines), its F1 of two zeros, is 0 here.
    """
    found: dict[str, list[str]] = {}
    block = "totals"
    for line in NAN.sub("0.00", printed).split("\n"):
        if line.startswith("-- "):
            block = line.strip("- ")
        elif match := FIGURE.fullmatch(line):
            found[f"{block}: {match[1]}"] = [match[2]]
        elif ROW.fullmatch(line):
            number, *values = line.split()
            found[SENTENCE + number] = values
        elif line[:1] == " " and line.split()[-1].replace(".", "").isdigit():
            found[block] = line.split()
    return found
