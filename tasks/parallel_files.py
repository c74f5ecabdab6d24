"""Reads the user's own parallel text: for each split two files (one a language) or one .tsv, plain or .gz.

Lines end at \\n only (and a \\r before it is dropped), since text holds other characters that Python takes for line
ends. A byte-order mark at the start of a file is dropped. A .tsv has no quoting and two columns.
"""

import collections
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from tasks.settings import FilesOrigin
from transformer.errors import InputError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def find_files(origin: FilesOrigin) -> dict[str, list[Path]]:
    """The files of each split; InputError if one is missing or the folder names a variable that is not set."""
    folder = Path(os.path.expandvars(origin.folder)).expanduser()
    if unset := re.search(r"\$\{?(\w+)", str(folder)):
        raise InputError(f"origin.folder is {origin.folder!r}, but the environment variable {unset[1]} is not set")
    files = {split: [folder / name for name in getattr(origin, split)] for split in ("train", "valid", "test")}
    for split, paths in files.items():
        if len(paths) == 1 and not _is_tsv(paths[0]):
            raise InputError(
                f"origin.{split}: {paths[0].name} is one file, so it must be a .tsv or .tsv.gz; else give two"
            )
        for path in paths:
            if not path.is_file():
                raise InputError(f"{path}: no such file (origin.{split})")
    return files


def read_pairs(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of one split, every line of it, unchanged.

    InputError for files of different length, an empty file, text that is not UTF-8, a damaged .gz, a .tsv line without
    exactly two columns: with file and line.
    """
    pairs = _read_tsv(paths[0]) if len(paths) == 1 else _read_two(*paths)
    first = next(pairs, None)
    if first is None:
        raise InputError(f"{paths[0]}: empty")
    return itertools.chain([first], pairs)


def _is_tsv(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".tsv")


def _read_tsv(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(_read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise InputError(f"{path}, line {number}: {len(columns)} column(s) where two are wanted, parted by a tab")
        yield columns[0], columns[1]


def _read_two(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Pair the lines; where one file ends earlier, count the rest of the other to name both numbers."""
    counts = [0, 0]
    sources, targets = (_counted(_read_lines(path), counts, side) for side, path in enumerate((source, target)))
    for pair in itertools.zip_longest(sources, targets):
        if None in pair:
            break
        yield pair
    for rest in (sources, targets):
        collections.deque(rest, maxlen=0)
    if counts[0] != counts[1]:
        raise InputError(
            f"{source} has {counts[0]} lines, {target} has {counts[1]}: line N of one must be line N of the other"
        )


def _counted(lines: Iterator[str], counts: list[int], side: int) -> Iterator[str]:
    for line in lines:
        counts[side] += 1
        yield line


def _read_lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                start = len(BYTE_ORDER_MARK) if number == 1 and line.startswith(BYTE_ORDER_MARK) else 0
                yield line[start:].removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: not UTF-8 ({error.reason}); convert the file, say with iconv"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged after line {number}: {error}") from None
