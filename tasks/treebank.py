"""Reads treebanks: files of Penn-bracketed trees, plain or .gz, with one tree after another over any lines.

A tree begins with a bracket at the beginning of a line and goes on until that is closed; inside of it no other line may
begin so. Between trees, lines that begin with #, %, ; or * are comments. What is no tree is counted with its file and
line, and reading goes on at the next one. `FILE.files.tsv` beside `FILE.tree.gz` says that several files were joined in
it, and which (name, tab, number of trees): it then stands for those.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate, chain, repeat
from pathlib import Path

from tasks.gz import open_gz
from tasks.hashes import digests
from tasks.parallel_files import expand
from tasks.settings import TreesOrigin
from tasks.texts import Pair, Texts
from transformer.errors import InputError
from transformer.text import normalise
from transformer.trees import Phrase, Tree, read_brackets, write_brackets

ABOUT = """\
Constituency trees and their words. Traces and what they leave empty, functions and indices of labels, and the outermost
bracket are gone; brackets in words are plain in the text, and escaped (-LRB-) in the trees."""
_JOINED = ".files.tsv"
_COMMENTS = ("#", "%", ";", "*")
_TRACE = "-NONE-"
# A label before its functions and indices: NP-SBJ-1, NP=2, ADVP|PRT. One that begins with a hyphen has none: -LRB-.
_LABEL = re.compile(r"-.*|[^-=|]+")


@dataclass(frozen=True)
class TreeFile:
    """A file of trees. Of one that was joined from several, only the trees in `parts` are meant, counted from 0."""

    path: Path
    parts: tuple[range, ...] | None = None


def read_treebank(origin: TreesOrigin) -> Texts:
    """Words and trees of all splits, as the files are divided; InputError if files are missing."""
    files = find_treebank(origin)
    dropped: Counter[str] = Counter()
    notes: list[str] = []
    pairs = {split: _pairs(found, dropped, notes) for split, found in files.items()}
    gold = chain.from_iterable(repeat(list(pairs["train"]), origin.gold_times)) if files["parsed"] else pairs["train"]
    sources = [
        {"split": split, "file": file.path.name, "licence": origin.terms, **digests(file.path, ["sha256"])}
        for split, found in files.items()
        for file in found
    ]
    splits: dict[str, Iterable[Pair]] = {
        "train": chain(gold, pairs["parsed"]),
        "valid": pairs["valid"],
        "test": pairs["test"],
    }
    return Texts(splits, ABOUT, sources, dropped, notes)


def find_treebank(origin: TreesOrigin) -> dict[str, list[TreeFile]]:
    """The files of train, valid, test and of trees that a parser made; a held-out file is in no other split."""
    folder = expand(origin.folder, "origin.folder")
    held_out = [*origin.valid, *origin.test]
    return {
        "train": _find(folder, origin.train, held_out, "origin.train"),
        "valid": _find(folder, origin.valid, [], "origin.valid"),
        "test": _find(folder, origin.test, origin.valid, "origin.test"),
        "parsed": _find(folder, origin.parsed, held_out, "origin.parsed") if origin.parsed else [],
    }


def _find(folder: Path, patterns: list[str], but: list[str], key: str) -> list[TreeFile]:
    """Files below the folder that fit one of the patterns (`23/*.mrg`) and none of `but`; InputError if none does."""

    def fits(path: Path, name: str) -> bool:
        name = (path.parent / name).relative_to(folder).as_posix().removesuffix(".gz")
        wanted, unwanted = (any(fnmatchcase(name, pattern) for pattern in some) for some in (patterns, but))
        return wanted and not unwanted

    found = []
    for path in sorted(folder.rglob("*")):
        table = path.with_name(path.name.partition(".")[0] + _JOINED)
        if path.name.endswith(_JOINED) or not path.is_file():
            continue
        if table.is_file():
            parts = tuple(trees for name, trees in _read_table(table) if fits(path, name))
            if parts:
                found.append(TreeFile(path, parts))
        elif fits(path, path.name):
            found.append(TreeFile(path))
    if not found:
        raise InputError(f"{folder}: no file {', '.join(patterns)} ({key})")
    return found


def _read_table(path: Path) -> list[tuple[str, range]]:
    """The files that were joined, and which trees of the joined file are theirs."""
    try:
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        names, counts = [row[0] for row in rows], [int(row[1]) for row in rows]
    except (ValueError, IndexError):
        raise InputError(f"{path}: not a table of file names and numbers of trees") from None
    ends = list(accumulate(counts))
    return [(name, range(end - count, end)) for name, count, end in zip(names, counts, ends, strict=True)]


def _pairs(files: Iterable[TreeFile], dropped: Counter[str], notes: list[str]) -> Iterator[Pair]:
    """Words and tree of each tree; what is none is counted and noted."""
    for file in files:
        for line, text in _texts(file):
            try:
                tree = tidy(read_brackets(text))
            except ValueError as error:
                dropped["no tree"] += 1
                notes.append(f"{file.path.name}, line {line}: {error}")
                continue
            yield " ".join(tree.words), write_brackets(tree)


def _texts(file: TreeFile) -> Iterator[tuple[int, str]]:
    """The text of each tree that is meant, or of what stands in its place, with the number of its first line."""
    for index, found in enumerate(_all_texts(file.path)):
        if file.parts is None or any(index in part for part in file.parts):
            yield found


def _all_texts(path: Path) -> Iterator[tuple[int, str]]:
    lines: list[str] = []
    first, depth = 0, 0
    with open_gz(path) as content:
        for number, raw in enumerate(content, 1):
            line = raw.decode("utf-8", "replace").replace("\ufeff", "")
            if depth <= 0 and not line.lstrip().startswith("("):
                if line.strip() and not line.startswith(_COMMENTS):
                    yield number, line
                continue
            if depth > 0 and line.startswith("("):
                yield first, "".join(lines)
                depth = 0
            if depth <= 0:
                lines, first, depth = [], number, 0
            lines.append(line)
            depth += line.count("(") - line.count(")")
            if depth <= 0:
                yield first, "".join(lines)
        if depth > 0:
            yield first, "".join(lines)


def tidy(tree: Tree) -> Tree:
    """The tree as parsers learn it: no traces, nothing that is empty without them, no functions and indices of labels.

    ValueError if nothing is left of it or of a word, or if its file was not UTF-8.
    """
    kept = [tag != _TRACE for tag in tree.tags]
    place = list(accumulate(kept, initial=0))
    words = [normalise(word).replace(" ", "") for word, keep in zip(tree.words, kept, strict=True) if keep]
    if not words:
        raise ValueError("only traces")
    if not all(words):
        raise ValueError("a word of invisible characters")
    if any("\ufffd" in word for word in words):
        raise ValueError("damaged characters, or not UTF-8")
    tags = [_bare(tag) for tag, keep in zip(tree.tags, kept, strict=True) if keep]
    phrases = [Phrase(_bare(label), place[start], place[end]) for label, start, end in tree.phrases]
    return Tree(words, tags, [phrase for phrase in phrases if phrase.start < phrase.end])


def _bare(label: str) -> str:
    """The label without functions and indices."""
    found = _LABEL.match(label)
    return found[0] if found else label
