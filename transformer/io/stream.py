"""Lines of a pipe or a file as they come."""

import os
import select
from collections.abc import Iterator

BLOCK = 1 << 20  # bytes; a pipe gives 64 KiB at most


def lines_as_they_come(descriptor: int, at_once: int) -> Iterator[list[bytes]]:
    r"""Yield the lines that are there, without their ends, at most `at_once` together; wait only where there is none.

    Lines end at \n only; the last one may lack it.
    """
    lines: list[bytes] = []
    rest, more = b"", True
    while more or lines:
        while more and len(lines) < at_once and (not lines or select.select([descriptor], [], [], 0)[0]):
            block = os.read(descriptor, BLOCK)
            *whole, rest = (rest + block).split(b"\n")
            lines += whole
            more = bool(block)
            if not more and rest:
                lines.append(rest)
        if lines:
            yield lines[:at_once]
            del lines[:at_once]
