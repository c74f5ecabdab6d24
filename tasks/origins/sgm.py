"""Reads the SGM files in which the WMT tasks publish their test sets: <doc docid=...> with <seg id=...> in it.

They are SGML by name only (bare `&`, attributes with and without quotes), so no XML parser reads them all. A segment
may run over several lines, which become one, and may be empty. Entities are undone once: `&amp;lt;` is the text `&lt;`.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tasks.common.gz import open_gz
from transformer.io.errors import InputError

_TAGS = re.compile(r"<doc\b(?P<doc>[^>]*)>|<seg\b(?P<seg>[^>]*?)(?:/>|>(?P<text>.*?)</seg\s*>)", re.I | re.S)
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-f]+|[a-z]\w*);", re.I)

Document = tuple[str, list[tuple[str, str]]]


def read_sgm(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files, in the order of the source's documents. Either may be a .gz.

    Documents are paired by their ids, or by their places if no id is on both sides. InputError if some ids are and
    others are not, if a document lacks segments that the other has, for text that is not UTF-8 and for a file that is
    no SGM.
    """
    sources, targets = _read(source), _read(target)
    if len(sources) != len(targets):
        raise InputError(f"{source} has {len(sources)} documents, {target} has {len(targets)}")
    for (docid, left), (_, right) in zip(sources, _in_order(sources, targets, source, target), strict=True):
        ids = [[number for number, _ in side] for side in (left, right)]
        if ids[0] != ids[1]:
            lacking = sorted(set(ids[0]) ^ set(ids[1])) or ["another order"]
            raise InputError(f"{target}: document {docid!r} has other segments than in {source}: {lacking[0]}")
        yield from zip((text for _, text in left), (text for _, text in right), strict=True)


def _in_order(sources: list[Document], targets: list[Document], source: Path, target: Path) -> list[Document]:
    """The targets in the order of their sources. With ids of which only some fit, place says nothing: InputError."""
    ids, others = ([docid for docid, _ in side] for side in (sources, targets))
    if ids == others or not set(ids) & set(others):
        return targets
    there, here = Counter(ids), Counter(others)
    for docid in (*ids, *others):
        if (there[docid], here[docid]) != (1, 1):
            raise InputError(
                f"{target}: document {docid!r} is in it {here[docid]} time(s), in {source} {there[docid]} time(s): ids "
                "that fit in part pair nothing; let all of them be in both files, each once, or none"
            )
    by_id = dict(targets)
    return [(docid, by_id[docid]) for docid in ids]


def _read(path: Path) -> list[Document]:
    """Documents with their ids, and their segments with theirs, as they stand."""
    content = _decode(path)
    documents: list[Document] = []
    for tag in _TAGS.finditer(content):
        if tag["doc"] is not None:
            documents.append((_attribute(tag["doc"], "docid"), []))
            continue
        text = tag["text"] or ""
        if re.search(r"<seg\b", text, re.I) or not documents:
            line = content.count("\n", 0, tag.start()) + 1
            raise InputError(f"{path}, line {line}: a segment without its </seg>, or outside any <doc>")
        documents[-1][1].append((_attribute(tag["seg"], "id"), _plain(text)))
    if len(re.findall(r"<seg\b", content, re.I)) != sum(len(segments) for _, segments in documents):
        raise InputError(f"{path}: its last segment has no </seg>; is the file whole?")
    if not any(segments for _, segments in documents):
        raise InputError(f"{path}: no SGM: no <seg> is in it")
    return documents


def _decode(path: Path) -> str:
    try:
        with open_gz(path) as file:
            return file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8 ({error.reason})") from None


def _attribute(attributes: str, name: str) -> str:
    found = re.search(rf"""\b{name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", attributes, re.I)
    return next((value for value in found.groups() if value is not None), "") if found else ""


def _plain(text: str) -> str:
    joined = re.sub(r"[ \t\r]*\n[ \t\r]*", " ", text.strip(" \t\r\n"))
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), joined)
