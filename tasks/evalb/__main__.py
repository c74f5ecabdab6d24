"""Score parses against gold trees as EVALB does: labelled brackets, by rules read from its parameter files.

    python -m tasks.evalb gold.tree test.tree                        # by tasks/evalb/collins.prm
    python -m tasks.evalb gold.tree test.tree --rules tasks/evalb/new.prm
    python -m tasks.evalb gold.tree test.tree --binary ./evalb       # and by the C program, to compare
    python -m tasks.evalb data/corpora/craft/test.tree outputs/parsing-craft/test.tree --gold-tags

in:   two files of one bracketed tree a line; an empty line of the second means that there is no parse
out:  the table and the summary that EVALB prints, on stdout; why sentences failed, on stderr

EVALB tells punctuation, which does not count, by its tags: trees without tags need the gold ones, as stage `score` has
them. It leaves out sentences that fail. Where some do, a last block counts every gold bracket of theirs as missed. With
--binary: each summary figure of both programs and every sentence that differs; exit code 1 if anything does.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tasks.common.lines import read_parallel, write_lines
from tasks.evalb.reader import read_line
from tasks.evalb.rules import COLLINS, Rules, read_rules
from tasks.evalb.scores import ERROR, SentenceScore, score_trees, with_gold_tags
from tasks.evalb.table import SENTENCE, figures, table, with_failed
from transformer.io.errors import InputError, run_main

TOLD = 20  # sentences that failed
SPACE_AFTER_WORD = re.compile(r"[^\s()]\s+\)", re.ASCII)


def main() -> None:
    """Score one file of trees."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.evalb", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gold", type=Path, help="the right trees, one a line")
    parser.add_argument("test", type=Path, help="the trees to score, one a line")
    parser.add_argument("--rules", type=Path, default=COLLINS, help="a parameter file of EVALB")
    parser.add_argument(
        "--gold-tags", action="store_true", help="give test trees the gold tags: for models that write XX"
    )
    parser.add_argument("--binary", type=Path, help="the program evalb, to compare with")
    given = parser.parse_args()
    rules = read_rules(given.rules)
    for path in (given.gold, given.test):
        if not path.is_file():
            raise InputError(f"{path}: no such file")
    gold, test = read_parallel(given.gold, given.test)
    if given.gold_tags:
        test = with_gold_tags(gold, test)
    scored = score_trees(gold, test, rules)
    _tell_failures(scored, test, rules)
    print(table(scored, rules) + with_failed(scored), end="")
    if given.binary and not _equal(gold, test, rules, given.rules, given.binary):
        sys.exit(1)


def _tell_failures(scored: list[SentenceScore], test: list[str], rules: Rules) -> None:
    failed = [score for score in scored if score.problem]
    for score in failed[:TOLD]:
        print(f"sentence {score.number}: {score.problem}", file=sys.stderr)
    if len(failed) > TOLD:
        print(f"and {len(failed) - TOLD:,} more sentences failed", file=sys.stderr)
    if failed and any("(XX " in line for line in test):
        print("the test trees have XX for tags: give them the gold ones with --gold-tags", file=sys.stderr)
    errors = sum(score.status == ERROR for score in scored)
    if errors > rules.max_errors + 1:
        print(f"{errors} sentences failed: EVALB stops after {rules.max_errors} (MAX_ERROR)", file=sys.stderr)


def _equal(gold: list[str], test: list[str], rules: Rules, rules_file: Path, binary: Path) -> bool:
    """Run the C program, on the sentences that it can take, and print what it finds beside what we do."""
    taken = [pair for pair in zip(gold, test, strict=True) if all(_can_take(line, rules) for line in pair)]
    if not taken:
        raise InputError(f"{binary}: it can take none of these sentences, so there is nothing to compare")
    print(f"\n=== {binary} ===")
    if len(taken) < len(gold):
        print(f"It cannot take {len(gold) - len(taken)} of the sentences; without them:")
    gold, test = ([pair[side] for pair in taken] for side in (0, 1))
    ours = figures(table(score_trees(gold, test, rules), rules))
    theirs = figures(_run(gold, test, rules_file, binary))
    different = {name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)}
    for name in {**ours, **theirs}:
        if name in different or not name.startswith(SENTENCE):
            one, other = (" ".join(side.get(name, ["nothing"])) for side in (ours, theirs))
            told = f"ours {one}, theirs {other}: DIFFERENT" if name in different else f"{one}: equal"
            print(f"{name}: {told}")
    rows = sum(name.startswith(SENTENCE) for name in different)
    print(f"sentences: {len(taken) - rows} of {len(taken)} equal in every figure")
    return not different


def _can_take(line: str, rules: Rules) -> bool:
    """Whether the C program reads a line as we do: stray text ends it, and what its arrays do not hold breaks it."""
    reading = read_line(line, rules)
    return (
        not reading.problem
        and not SPACE_AFTER_WORD.search(line)
        and len(line.encode()) <= 4_998
        and max(len(reading.words), len(reading.labels)) <= 200
        and len(reading.quotes) <= 20
        and all(len(word.encode()) < 100 for word in reading.words)
        and all(len(label.encode()) < 30 for label in (*reading.labels, *reading.tags))
    )


def _run(gold: list[str], test: list[str], rules_file: Path, binary: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        sides = Path(folder, "gold"), Path(folder, "test")
        for path, lines in zip(sides, (gold, test), strict=True):
            write_lines(path, lines)
        most_errors = str(10 * len(gold) + 10)  # it would stop at the number in the rule file
        command = [str(binary.resolve()), "-p", str(rules_file), "-e", most_errors, *map(str, sides)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
        except OSError as error:
            raise InputError(f"{binary}: cannot be run ({error.strerror}); name the program evalb") from None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "no message").split("\n")[-1]
            raise InputError(f"{binary}: exit code {error.returncode} ({last}); is it evalb?") from None
    return result.stdout


if __name__ == "__main__":
    run_main(main)
