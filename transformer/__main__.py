r"""Translate standard input, line for line, or parse it.

    python -m transformer models/tiny < input.txt > output.txt
    python -m transformer models/parsing-craft --trees < sentences.txt > trees.txt

in:   standard input, UTF-8; a model folder
out:  standard output; line i is the translation or tree of line i, an empty line stays empty, lines end at \n only

Lines are translated as they come, up to a thousand at once, and what is there is written before more is read.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from transformer.inspect.alignment_page import alignment_page, picture
from transformer.io.errors import InputError, run_main
from transformer.io.packed import KINDS, packed_with
from transformer.io.progress import bar
from transformer.io.stream import lines_as_they_come

if TYPE_CHECKING:
    from transformer.parsing.parser import Parser
    from transformer.translator import Translation, Translator

LINES_AT_ONCE = 1000
TREES_AT_ONCE = 40  # each takes a hundred times as long: models that parse have wide beams and long outputs
LONGEST_LIST = 1000

EPILOG = """\
examples:
  echo 'Do you want to delete this file?' | python -m transformer models/tiny
  python -m transformer models/tiny < input.txt > output.txt
  python -m transformer models/tiny --precision bf16 < input.txt > output.txt
  python -m transformer models/tiny --nbest 4 --scores < input.txt > lists.tsv
  head -20 input.txt | python -m transformer models/tiny --attention alignments.html
  echo "These mice (n = 3) don't survive." | python -m transformer models/parsing-craft --trees
  echo "These mice ( n = 3 ) do n't survive ." | python -m transformer models/parsing-craft --trees --tokenised

output, one translation a line, tab separated:
                       translation
  --scores             score  translation
  --nbest N            line   translation
  --nbest N --scores   line   score  translation
  --trees              tree
  --trees --scores     score  tree
line counts input lines from 1. score is the sum of the natural logarithms of the token probabilities divided by the
length penalty that config.json of the model names, and where a line was split, the sum of the scores of its parts.

A note on standard error names each line that was split, each whose translation ends at the length limit, and each for
which the model finds it best to write nothing. With --trees a line is one sentence, which is never split; a note names
each that is longer than any in the model's training, and each whose output was no tree over its words and was repaired.
exit codes: 0; 2 if something given is wrong, with one line that says what, after all lines before it; 1 if nobody reads
the output any more; 130 after Ctrl-C.
"""


def main() -> None:
    """Read, translate and write what is there, until the end of standard input."""
    try:
        _main()
    except KeyboardInterrupt:
        # At its end Python waits for threads, which may be far from the end of a batch.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _main() -> None:
    arguments = _arguments()
    if not (sys.stdin and sys.stdout):
        raise InputError("standard input or output is closed; give it a file")
    from transformer.translator import Translator  # here, as PyTorch takes a second, which --help need not wait

    translator = Translator.load(arguments.model, arguments.precision)
    parser = _parser(translator, arguments)
    if sys.stdin.isatty():
        answer = "tree" if parser else "translation"
        print(f"type a line and press Enter for its {answer}; Ctrl-D ends", file=sys.stderr, flush=True)
    number, at_once = 1, TREES_AT_ONCE if parser else LINES_AT_ONCE
    with ExitStack() as stack:
        page = stack.enter_context(alignment_page(arguments.attention)) if arguments.attention else None
        label = "parse" if parser else "translate"
        shown = stack.enter_context(bar(None, label, "line", hidden=sys.stdin.isatty() or sys.stdout.isatty()))
        for raw in lines_as_they_come(sys.stdin.fileno(), at_once):
            lines, wrong = _readable(raw, number, translator, arguments.long == "refuse")
            if parser:
                _parse(lines, number, parser, arguments)
            else:
                _translate(lines, number, translator, page, arguments)
            number += len(lines)
            sys.stdout.buffer.flush()
            if wrong:
                raise wrong
            shown.update(len(lines))


def _parser(translator: "Translator", arguments: argparse.Namespace) -> "Parser | None":
    """A parser if trees are asked for; InputError if the model is not of the kind that is asked for."""
    from transformer.parsing.parser import Parser

    if arguments.trees:
        if not translator.config.text.trees:
            raise InputError(f"{arguments.model}: this model translates; leave --trees out")
        return Parser(translator)
    if translator.config.text.trees:
        raise InputError(f"{arguments.model}: this model parses; add --trees")
    return None


def _translate(
    lines: list[str], first: int, translator: "Translator", page: TextIO | None, arguments: argparse.Namespace
) -> None:
    for number, translations in enumerate(translator.nbest(lines, arguments.nbest or 1), first):
        sys.stdout.buffer.writelines(_rows(number, translations, arguments))
        _note(number, translations[0])
        if page:
            page.writelines(_pictures(number, translations[0], translator))


def _parse(lines: list[str], first: int, parser: "Parser", arguments: argparse.Namespace) -> None:
    translator = parser.translator
    for number, parsed in enumerate(parser.parse_text(lines, arguments.tokenised, arguments.well_formed), first):
        score = f"{parsed.output.score:.4f}\t" if arguments.scores else ""
        sys.stdout.buffer.write(f"{score}{parsed.text}\n".encode())
        length = len(translator.encode([" ".join(parsed.tree.words)])[0])
        notes = ["longer than any in this model's training, parsed all the same"] * (length > translator.longest)
        if length > translator.most:
            notes = [f"more than the {translator.most:,} sub-words that are searched at once, so a flat tree"]
        notes += ["the output ends at the length limit"] * parsed.output.cut
        notes += ["the output was no tree over these words, and was repaired"] * (parsed.repaired and parsed.text != "")
        _say(number, notes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m transformer",
        description="Translate standard input to standard output, line for line, or parse it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="a model folder, such as models/tiny")
    parser.add_argument(
        "--nbest",
        type=_length_of_list,
        metavar="N",
        help=f"the N best of each line, best first, by a beam of at least N (up to {LONGEST_LIST})",
    )
    parser.add_argument("--scores", action="store_true", help="with the score of each")
    parser.add_argument(
        "--attention", type=Path, metavar="OUT.html", help="write a page that shows where the model looked"
    )
    parser.add_argument(
        "--precision", choices=["fp32", "bf16"], default="fp32",
        help="what it computes in: bf16 is faster on a processor or GPU that has it, with other words in one line of "
        "twenty (fp32 if not given)",
    )  # fmt: skip
    parser.add_argument(
        "--long", choices=["split", "refuse"], default="split",
        help="lines longer than any in the model's training: in parts, cut at sentence ends or else spaces (as if not "
        "given), or an error; with --trees they are parsed whole, or an error",
    )  # fmt: skip
    parser.add_argument(
        "--trees", action="store_true", help="parse, with a model of a treebank: a tree in brackets a line"
    )
    parser.add_argument(
        "--tokenised",
        action="store_true",
        help="with --trees: words are what spaces part; otherwise lines are cut into words",
    )
    parser.add_argument(
        "--well-formed",
        action="store_true",
        help="with --trees: search only among trees over the words, so that no output needs repair",
    )
    arguments = parser.parse_args()
    if arguments.trees and (arguments.nbest or arguments.attention):
        parser.error(f"--trees gives the best tree alone: leave {'--nbest' if arguments.nbest else '--attention'} out")
    if (arguments.tokenised or arguments.well_formed) and not arguments.trees:
        parser.error(f"{'--tokenised' if arguments.tokenised else '--well-formed'} goes with --trees")
    return arguments


def _length_of_list(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= LONGEST_LIST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {LONGEST_LIST}")
    return int(text)


def _readable(
    raw: list[bytes], first: int, translator: "Translator", refuse: bool
) -> tuple[list[str], InputError | None]:
    """The lines as text up to the first that is wrong, and what is wrong with it."""
    lines: list[str] = []
    for number, line in enumerate(raw, start=first):
        if number == 1 and (kind := packed_with(line)):
            return lines, InputError(f"standard input: packed with {kind}; unpack it with {KINDS[kind][0]}")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return lines, InputError(f"standard input, line {number}: not UTF-8; convert it, say with iconv")
        if refuse and (length := len(translator.encode([text])[0])) > translator.longest:
            most = f"{length} sub-words, and this model takes {translator.longest}"
            return lines, InputError(f"standard input, line {number}: {most}; shorten it, or use --long split")
        lines.append(text)
    return lines, None


def _rows(number: int, translations: "list[Translation]", arguments: argparse.Namespace) -> Iterator[bytes]:
    for translation in translations:
        columns = [str(number)] if arguments.nbest else []
        columns += [f"{translation.score:.4f}"] if arguments.scores else []
        yield "\t".join([*columns, translation.text]).encode() + b"\n"


def _note(number: int, translation: "Translation") -> None:
    notes = [f"too long for this model, translated in {len(translation.parts)} parts"] * (len(translation.parts) > 1)
    notes += ["the translation ends at the length limit"] * translation.cut
    notes += ["the translation is empty"] * (not translation.text and any(part.source for part in translation.parts))
    _say(number, notes)


def _say(number: int, notes: list[str]) -> None:
    for note in notes:
        print(f"line {number}: {note}", file=sys.stderr, flush=True)


def _pictures(number: int, translation: "Translation", translator: "Translator") -> Iterator[str]:
    for place, part in enumerate(translation.parts, start=1):
        of = f", part {place} of {len(translation.parts)}" if len(translation.parts) > 1 else ""
        if part.source:
            yield picture(f"line {number}{of}", *translator.alignment(part))


if __name__ == "__main__":
    run_main(main)
