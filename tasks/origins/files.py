"""Reads parallel text from files: two files (one a language; text or .sgm) or one .tsv; plain or .gz.

Lines end at \\n only (and a \\r before it is dropped), since text holds other characters that Python takes for line
ends. A byte-order mark at the start of a file is dropped. A .tsv has no quoting and two columns.
"""

import collections
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from tasks.common.gz import open_gz, without_gz
from tasks.common.settings import FilesOrigin, Languages
from tasks.origins.hashes import digests
from tasks.origins.sgm import read_sgm
from tasks.origins.swapped_sides import check_direction
from tasks.origins.texts import Pair, Texts
from transformer.io.errors import InputError

SPLITS = ("train", "valid", "test")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What to do with bytes that are not UTF-8: raise InputError, or put U+FFFD in their place, which the cleaning of
# training text drops and counts. Nobody can repair the line in a published archive, or leave it out of a test set.
Errors = Literal["strict", "replace"]


def read_files(origin: FilesOrigin, languages: Languages) -> Texts:
    """The user's own text, every line of it, split as the files are."""
    files = find_files(origin)
    pairs: dict[str, Iterable[Pair]] = {split: read_all(parts, languages) for split, parts in files.items()}
    sources = [
        {"split": split, "file": path.name, **digests(path, ["sha256"])}
        for split, parts in files.items()
        for path in itertools.chain(*parts)
    ]
    return Texts(pairs, "Files of your own, split as they came; their licence is yours to know.", sources)


def find_files(origin: FilesOrigin) -> dict[str, list[list[Path]]]:
    """The pairs of files of each split; InputError if one is missing or the folder's variable is not set."""
    folder = expand(origin.folder, "origin.folder")
    files = {split: [[folder / name for name in pair] for pair in getattr(origin, split)] for split in SPLITS}
    for split, parts in files.items():
        for paths in parts:
            for path in paths:
                if not path.is_file():
                    raise InputError(f"{path}: no such file (origin.{split})")
    return files


def expand(folder: str, key: str) -> Path:
    """The folder with its environment variables put in; InputError, naming the key, if one is not set."""
    path = Path(os.path.expandvars(folder)).expanduser()
    if unset := re.search(r"\$\{?(\w+)", str(path)):
        raise InputError(f"{key} is {folder!r}, but the environment variable {unset[1]} is not set")
    return path


def read_all(parts: Iterable[list[Path]], languages: Languages, errors: Errors = "strict") -> Iterator[Pair]:
    """Yield the pairs of several pairs of files, one after the other, each with its direction checked."""
    for paths in parts:
        yield from check_direction(read_pairs(paths, errors), languages, " and ".join(path.name for path in paths))


def read_pairs(paths: list[Path], errors: Errors = "strict") -> Iterator[Pair]:
    """Yield the pairs of one or two files, every line of them, unchanged.

    InputError for files of different length, an empty file, text that is not UTF-8 (if errors are "strict"), a .tsv
    line without exactly two columns: with file and line; for a damaged .gz, and a file packed otherwise.
    """
    if len(paths) == 1:
        pairs = _read_tsv(paths[0], errors)
    elif any(_is(path, ".sgm") for path in paths):
        pairs = read_sgm(*paths)
    else:
        pairs = _read_two(paths[0], paths[1], errors)
    first = next(pairs, None)
    if first is None:
        raise InputError(f"{paths[0]}: empty")
    return itertools.chain([first], pairs)


def _is(path: Path, ending: str) -> bool:
    return without_gz(path.name).lower().endswith(ending)


def _read_tsv(path: Path, errors: Errors) -> Iterator[Pair]:
    for number, line in enumerate(_read_lines(path, errors), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise InputError(f"{path}, line {number}: {len(columns)} column(s) where two are wanted, parted by a tab")
        yield columns[0], columns[1]


def _read_two(source: Path, target: Path, errors: Errors) -> Iterator[Pair]:
    """Pair the lines; where one file ends earlier, count the rest of the other to name both numbers."""
    counts = [0, 0]
    sources, targets = (_counted(_read_lines(path, errors), counts, side) for side, path in enumerate((source, target)))
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


def _read_lines(path: Path, errors: Errors) -> Iterator[str]:
    number = 0
    try:
        with open_gz(path) as file:
            for number, line in enumerate(file, 1):
                start = len(BYTE_ORDER_MARK) if number == 1 and line.startswith(BYTE_ORDER_MARK) else 0
                yield line[start:].removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, line {number}: not UTF-8 ({error.reason}); convert the file, say with iconv"
        ) from None
