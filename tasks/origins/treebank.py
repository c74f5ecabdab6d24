"""Reads treebanks: files of Penn-bracketed trees, plain or .gz, with one tree after another over any lines.

A tree begins with a bracket and goes on until that is closed. Where a bracket is missing, that would be the end of the
file; so a tree is given up as broken at the next line that is indented no more than its first one and begins as that:
with the same outermost bracket, or, where trees have none such, with any bracket once something of the tree is closed.
Between trees, lines that begin with #, %, ; or * are comments. What is no tree
is counted with its file and line.

`FILE.files.tsv` beside `FILE.tree.gz` says that several files were joined in it, and which (name, tab, number of
trees): it then stands for those.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from pathlib import Path

from tasks.common.gz import open_gz, without_gz
from tasks.common.settings import TreesOrigin
from tasks.origins.archives import prepare
from tasks.origins.files import expand
from tasks.origins.hashes import digests
from tasks.origins.texts import Pair, Texts
from transformer.io.errors import InputError
from transformer.text.preparation import normalise
from transformer.text.trees import OUTERMOST, Phrase, Tree, escape, read_brackets, unescape, write_brackets

ABOUT = """\
Constituency trees and their words. Traces and what they leave empty, functions and indices of labels, and the outermost
bracket are gone; brackets in words are plain in the text, and escaped (-LRB-) in the trees."""
_JOINED = ".files.tsv"
_COMMENTS = ("#", "%", ";", "*")
_TRACE = "-NONE-"
_BRACKET = re.compile(r"[()]")
_OPENING = re.compile(r"\s*\(\s*(\(|[^\s()]*)")
_NOTES = 1000  # at most: a file that is no treebank may have one for each line
# A label before its functions and indices: NP-SBJ-1, NP=2, ADVP|PRT. One that begins with a hyphen has none: -LRB-.
_LABEL = re.compile(r"-.*|[^-=|]+")
# The Penn Treebank has these two in words as \/ and \*, to tell them from those in tags and traces.
_BACKSLASH = re.compile(r"\\([/*])")


@dataclass(frozen=True)
class TreeFile:
    """A file of trees. Of one that was joined from several, only the trees in `parts` are meant, counted from 0."""

    path: Path
    parts: tuple[range, ...] | None = None
    trees: int | None = None  # in all of a joined file, as its table says

    @property
    def paths(self) -> list[Path]:
        """What decides which trees are read: the file, and its table if it was joined."""
        return [self.path] if self.parts is None else [self.path, _table(self.path)]


def read_treebank(origin: TreesOrigin) -> Texts:
    """Words and trees of all splits, as the files are divided; fetches the archive if there is no folder.

    InputError if files are missing, now, or if a joined file has not the trees that its table says, while pairs are
    read.
    """
    folder, prefix = own_folder(origin), ""
    if not folder and origin.archive:
        [folder], _ = prepare(origin.archive)
        prefix = f"{origin.archive.file}: "
    assert folder  # own_folder says what is missing
    files = find_treebank(origin, folder)
    dropped: Counter[str] = Counter()
    notes: list[str] = []
    pairs = {split: _pairs(found, dropped, notes) for split, found in files.items()}
    hashes = {file.path: digests(file.path, ["sha256"]) for found in files.values() for file in found}
    sources = [
        {"split": split, "file": prefix + file.path.name, "licence": origin.terms, **hashes[file.path]}
        for split, found in files.items()
        for file in found
    ]
    splits: dict[str, Iterable[Pair]] = {
        "train": _mixed(pairs["train"], origin.gold_times if files["parsed"] else 1, pairs["parsed"]),
        "valid": pairs["valid"],
        "test": pairs["test"],
    }
    return Texts(splits, ABOUT, sources, dropped, notes)


def own_folder(origin: TreesOrigin) -> Path | None:
    """The folder of trees if it is there; None if an archive stands for it, else InputError."""
    try:
        folder = expand(origin.folder, "origin.folder")
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder (origin.folder)")
    except InputError:
        if not origin.archive:
            raise
        return None
    return folder


def find_treebank(origin: TreesOrigin, folder: Path) -> dict[str, list[TreeFile]]:
    """The files of train, valid, test and of trees that a parser made; a held-out file is in no other split."""
    held_out = [*origin.valid, *origin.test]
    return {
        "train": _find(folder, origin.train, held_out, "origin.train"),
        "valid": _find(folder, origin.valid, [], "origin.valid"),
        "test": _find(folder, origin.test, origin.valid, "origin.test"),
        "parsed": [file for path in origin.parsed for file in _find_parsed(folder, path, held_out)],
    }


def _find_parsed(folder: Path, pattern: str, but: list[str]) -> list[TreeFile]:
    if pattern[:1] not in ("/", "$", "~"):
        return _find(folder, [pattern], but, "origin.parsed")
    parts = expand(pattern, "origin.parsed").parts
    fixed = next((place for place, part in enumerate(parts) if set(part) & set("*?[")), len(parts) - 1)
    return _find(Path(*parts[:fixed]), ["/".join(parts[fixed:])], but, "origin.parsed")


def _find(folder: Path, patterns: list[str], but: list[str], key: str) -> list[TreeFile]:
    """Files below the folder that fit one of the patterns (`23/*.mrg`) and none of `but`; InputError if none does."""

    def fits(path: Path, name: str) -> bool:
        name = (path.parent / name).relative_to(folder).as_posix()
        wanted, unwanted = (_matches(name, some) for some in (patterns, but))
        return wanted and not unwanted

    found = []
    for path in sorted(folder.rglob("*")):
        table = _table(path)
        if path.name.startswith(".") or path == table or not path.is_file():
            continue
        if table.is_file():
            named = _read_table(table)
            parts = tuple(trees for name, trees in named if fits(path, name))
            if parts:
                found.append(TreeFile(path, parts, named[-1][1].stop))
        elif fits(path, path.name):
            found.append(TreeFile(path))
    if not found:
        raise InputError(f"{folder}: no file {', '.join(patterns)} ({key})")
    return found


def _table(path: Path) -> Path:
    return path.with_name(path.name.partition(".")[0] + _JOINED)


def _matches(name: str, patterns: list[str]) -> bool:
    """Whether a path fits one of the patterns, with the ending .gz or without it."""
    return any(fnmatchcase(one, pattern) for one in (name, without_gz(name)) for pattern in patterns)


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
        for line, text in _chosen(file):
            try:
                tree = tidy(read_brackets(text))
            except ValueError as error:
                dropped["no tree"] += 1
                if len(notes) < _NOTES:
                    notes.append(f"{Path(*file.path.parts[-2:])}, line {line}: {error}")
                continue
            yield " ".join(tree.words), write_brackets(tree)


def _mixed(gold: Iterable[Pair], times: int, parsed: Iterable[Pair]) -> Iterator[Pair]:
    kept = list(gold) if times > 1 else gold
    for _ in range(times):
        yield from kept
    yield from parsed


def _chosen(file: TreeFile) -> Iterator[tuple[int, str]]:
    """The text of each tree that is meant, or of what stands in its place, with the number of its first line."""
    index = -1
    for index, found in enumerate(_read_file(file.path)):
        if file.parts is None or any(index in part for part in file.parts):
            yield found
    if file.trees not in (None, index + 1):
        raise InputError(f"{file.path}: {index + 1:,} trees, but *{_JOINED} beside it says {file.trees:,}: mend one")


def _read_file(path: Path) -> Iterator[tuple[int, str]]:
    """The text of each tree in a file, or of what stands in its place, with the number of its first line."""
    held: list[str] = []  # lines of the tree that is open
    first = depth = margin = 0
    for number, line in enumerate(_lines(path), 1):
        text = line.lstrip()
        indent = len(line) - len(text)
        if held and indent <= margin and _begins_another(text, held):
            yield first, "".join(held)
            held = []
        if not held:
            if not text.startswith("("):
                if text and not text.startswith(_COMMENTS):
                    yield number, line
                continue
            first, depth, margin = number, 0, indent
        held.append(line)
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield from _split_row("".join(held), first)
            held = []
    if held:
        yield first, "".join(held)


def _begins_another(text: str, held: list[str]) -> bool:
    """Whether a line begins a tree, given those of one that is not closed yet."""
    outermost, found = _opening(held[0]), _opening(text)
    if outermost in ("(", *OUTERMOST):
        return found == outermost
    return found is not None and any(")" in line for line in held)


def _opening(line: str) -> str | None:
    """The label of the bracket that a line begins with, or the bracket behind it if it has none."""
    found = _OPENING.match(line)
    return found[1] if found else None


def _lines(path: Path) -> Iterator[str]:
    """Byte-order marks stand at the beginning of files, and inside of those that were joined."""
    with open_gz(path) as content:
        for line in content:
            yield line.decode("utf-8", "replace").replace("\ufeff", "")


def _split_row(text: str, number: int) -> Iterator[tuple[int, str]]:
    """Several trees in a row one by one, each with the number of its line; brackets that do not match stay together."""
    brackets = list(_BRACKET.finditer(text))
    depths = list(accumulate(1 if bracket[0] == "(" else -1 for bracket in brackets))
    if min(depths) < 0 or depths[-1]:
        yield number, text
        return
    ends = [bracket.end() for bracket, depth in zip(brackets, depths, strict=True) if not depth]
    for start, end in pairwise([0, *ends, len(text)]):
        tree = text[start:end]
        if tree.strip():
            yield number + text.count("\n", 0, end - len(tree.lstrip())), tree


def tidy(tree: Tree) -> Tree:
    """The tree as parsers learn it: no traces, nothing that is empty without them, no functions and indices of labels.

    Its words and labels are normalised each by itself, so that no later normalising of a line changes their number.

    ValueError if nothing is left of it, of a word or of a tag, or if its file was not UTF-8.
    """
    kept = [tag != _TRACE for tag in tree.tags]
    place = list(accumulate(kept, initial=0))
    words = [_plain_word(word) for word, keep in zip(tree.words, kept, strict=True) if keep]
    tags = [_plain_label(tag) for tag, keep in zip(tree.tags, kept, strict=True) if keep]
    labels = [_plain_label(phrase.label) for phrase in tree.phrases]
    if not words:
        raise ValueError("only traces")
    if not all(words) or not all(tags):
        raise ValueError("a word or tag of invisible characters")
    if any("\ufffd" in text for text in chain(words, tags, labels)):
        raise ValueError("damaged characters, or not UTF-8")
    moved = [
        Phrase(label, place[start], place[end])
        for label, (_, start, end) in zip(labels, tree.phrases, strict=True)
        if label
    ]
    return Tree(words, tags, [phrase for phrase in moved if phrase.start < phrase.end])


def _plain_word(word: str) -> str:
    """The word as one writes it, or as it is read again in the rare case that its escapes can be read otherwise."""
    return unescape(escape(_BACKSLASH.sub(r"\1", _normal(word))))


@lru_cache(maxsize=10_000)
def _plain_label(label: str) -> str:
    """The label without functions and indices."""
    label = _normal(label)
    found = _LABEL.match(label)
    return found[0] if found else label


def _normal(text: str) -> str:
    return normalise(text).replace(" ", "")
