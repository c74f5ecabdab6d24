"""Text files of one sentence a line, UTF-8. Lines end at \\n only: other separators may stand inside a sentence."""

from collections.abc import Iterable
from pathlib import Path

from transformer.io.errors import InputError
from transformer.io.packed import ENOUGH, KINDS, packed_with


def read_lines(path: Path) -> list[str]:
    """The lines of a file, without their ends; InputError if it is missing or not UTF-8."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            return [line.removesuffix("\n") for line in file]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that writes it") from None
    except UnicodeDecodeError:
        with path.open("rb") as packed:
            kind = packed_with(packed.read(ENOUGH))
        why = f"packed with {kind}; unpack it with {KINDS[kind][0]}" if kind else "not UTF-8"
        raise InputError(f"{path}: {why}, or run the stage that writes it again") from None


def read_parallel(*paths: Path) -> list[list[str]]:
    """The lines of files that belong together line by line; InputError names their counts if these differ or are 0."""
    sides = [read_lines(path) for path in paths]
    if len(set(map(len, sides))) > 1 or not sides[0]:
        told = ", ".join(f"{path}: {len(lines):,} lines" for path, lines in zip(paths, sides, strict=True))
        raise InputError(f"{told}; line N of one must be line N of the others")
    return sides


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write one line each."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
