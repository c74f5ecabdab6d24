"""Translate standard input, line for line.

    python -m transformer models/tiny < input.txt > output.txt

Line i of the output is the translation of line i of the input; an empty line stays empty. Lines end at \\n only.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice

from transformer.errors import InputError, run_main
from transformer.translator import Translator

LINES_AT_ONCE = 1000


def main() -> None:
    """Read, translate and write a thousand lines at a time."""
    parser = argparse.ArgumentParser(
        prog="python -m transformer",
        description="Translate standard input to standard output, line for line.",
        epilog="example: echo 'Do you want to delete this file?' | python -m transformer models/tiny",
    )
    parser.add_argument("model", help="a model folder, such as models/tiny")
    translator = Translator.load(parser.parse_args().model)
    lines = _lines()
    while chunk := list(islice(lines, LINES_AT_ONCE)):
        for translation in translator.translate(chunk):
            sys.stdout.buffer.write(translation.encode() + b"\n")
        sys.stdout.buffer.flush()


def _lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode().rstrip("\n")
        except UnicodeDecodeError:
            raise InputError(f"standard input, line {number}: not UTF-8") from None


if __name__ == "__main__":
    run_main(main)
