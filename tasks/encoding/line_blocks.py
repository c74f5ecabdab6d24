"""Parallel text in blocks of lines, which several processes can read independently of each other."""

import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer.io.errors import InputError

BYTES = 2**24  # of a file looked at together


@dataclass(frozen=True)
class Block:
    """Some lines of a pair of files, one after another."""

    split: str
    paths: tuple[Path, Path]
    starts: tuple[int, int]  # bytes before the first line, in each file
    number: int  # among the blocks of these files, from 0
    first: int  # line, from 1
    lines: int

    def read(self, at_once: int) -> Iterator[tuple[list[str], list[str]]]:
        """The lines of both sides without their ends, so many at once; at `\\n` only."""
        with self.paths[0].open("rb") as source, self.paths[1].open("rb") as target:
            sides = []
            for file, start in zip((source, target), self.starts, strict=True):
                file.seek(start)
                sides.append(io.TextIOWrapper(file, encoding="utf-8", newline="\n"))
            for done in range(0, self.lines, at_once):
                count = min(at_once, self.lines - done)
                left, right = ([line.removesuffix("\n") for line in itertools.islice(side, count)] for side in sides)
                yield left, right


def cut(split: str, paths: tuple[Path, Path], pairs: int, size: int) -> list[Block]:
    """All lines of the two files of a split in blocks of `size`, the last one shorter.

    InputError if a file has not `pairs` lines.
    """
    both = zip(*(_starts(path, pairs, size) for path in paths), strict=True)
    return [
        Block(split, paths, starts, number, number * size + 1, min(size, pairs - number * size))
        for number, starts in enumerate(both)
    ]


def _starts(path: Path, lines: int, size: int) -> list[int]:
    """Where each block of `size` lines begins, in bytes."""
    starts, seen, position, last = [0], 0, 0, b"\n"
    with path.open("rb") as file:
        while data := file.read(BYTES):
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
            starts += (position + 1 + ends[size - 1 - seen % size :: size]).tolist()
            seen, position, last = seen + len(ends), position + len(data), data[-1:]
    seen += last != b"\n"
    if seen != lines:
        raise InputError(f"{path}: has {seen:,} lines, but corpus.json says {lines:,}; run the stage `corpus` again")
    return starts[: -(-lines // size)]
