"""Copies files out of archives (.tar, .tgz, .zip): those that are asked for, or the files of one folder.

Nothing in an archive decides where a file is written but the part of its name below that folder, and only plain files
are copied.
"""

import gzip
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tasks.common.gz import DAMAGED
from tasks.origins.hashes import CHUNK, QUICK
from transformer.io.errors import InputError
from transformer.io.files import remove_unfinished, whole_file, whole_folder
from transformer.io.packed import ENOUGH, packed_with
from transformer.io.progress import bar

EXPANSION = 50  # an archive that unpacks to more times its size is no text


class NotWhole(InputError):
    """The archive is damaged or lacks a file."""


@dataclass(frozen=True)
class Member:
    """What an archive holds under a name; to be read before the next one is asked for."""

    name: str
    size: int  # bytes
    plain: bool  # a file, no link or folder
    read: Callable[[], Iterator[bytes]]


def is_archive(path: Path) -> bool:
    """Whether it can be opened as one."""
    return tarfile.is_tarfile(path) or zipfile.is_zipfile(path)


def unpack(path: Path, names: list[str], folder: Path, to_the_end: bool) -> list[Path]:
    """Copy plain files named exactly so into `folder`; nothing else in the archive is looked at.

    It stops behind the last of them unless told to go on `to_the_end`, where gzip has a sum of the whole.

    InputError if one is missing or a link, for a damaged archive, and for one that grows beyond all measure.
    """
    wanted = {name: folder / name for name in names}
    missing = {name for name, file in wanted.items() if not file.is_file()}
    with _members(path) as members:
        for member in members if missing or to_the_end else ():
            name = member.name.removeprefix("./")
            if name in missing:
                _copy_whole(path, member, wanted[name])
                missing.remove(name)
            if not missing and not to_the_end:
                break
    if missing:
        raise NotWhole(f"{path}: has no {', '.join(sorted(missing))}")
    return list(wanted.values())


def unpack_folder(path: Path, inside: str, folder: Path) -> Path:
    """Copy all plain files below the folder `inside` of an archive to `folder / inside`, which it returns.

    Folders around it, such as GitHub puts around a project, are left out. All files appear together or none does.

    InputError if there is no such folder, for a damaged archive, and for one that grows beyond all measure.
    """
    out = folder / inside
    with whole_folder(out) as unfinished, _members(path) as members:
        for member in members:
            below = _below(member.name, inside)
            if below and member.plain:
                need_disk(out.parent, member.size, f"{path.name}: {member.name}")
                _copy(member, unfinished / below)
        if not any(unfinished.iterdir()):
            raise NotWhole(f"{path}: has no files in a folder {inside}")
    return out


def _below(name: str, inside: str) -> str | None:
    """The part of the name below that folder; None if it is not in there, or would lead out of it."""
    _, found, below = f"/{name}".partition(f"/{inside}/")
    safe = not {"", ".", ".."} & set(below.split("/"))
    return below if found and safe else None


@contextmanager
def _members(path: Path) -> Iterator[Iterator[Member]]:
    """What is in the archive, in its order; at the end of a .tgz its sum is checked."""
    size = path.stat().st_size
    try:
        with path.open("rb") as raw, bar(size, f"{path.name}: unpacking", "B", hidden=size < QUICK) as shown:

            def read(content: IO[bytes]) -> Iterator[bytes]:
                while chunk := content.read(CHUNK):
                    yield chunk
                    shown.update(raw.tell() - shown.n)

            kind = packed_with(raw.peek(ENOUGH))
            if kind not in (None, "gzip", "zip"):
                raise InputError(f"{path}: packed with {kind}, and only .tar, .tgz and .zip are read: pack it anew")
            yield _bounded(path, _of_zip(raw, read) if kind == "zip" else _of_tar(raw, read, kind == "gzip"))
    except (tarfile.TarError, zipfile.BadZipFile, NotImplementedError, *DAMAGED) as error:
        raise NotWhole(f"{path}: damaged: {error}") from None


def _bounded(path: Path, members: Iterator[Member]) -> Iterator[Member]:
    limit = EXPANSION * path.stat().st_size
    for member in members:
        limit -= member.size
        if limit < 0:
            raise InputError(f"{path}: unpacks to more than {EXPANSION} times its size: no archive of text")
        yield member


def _of_tar(raw: IO[bytes], read: Callable[[IO[bytes]], Iterator[bytes]], packed: bool) -> Iterator[Member]:
    content = gzip.GzipFile(fileobj=raw) if packed else raw
    with tarfile.open(fileobj=content, mode="r|") as archive:
        while entry := archive.next():

            def content_of(entry: tarfile.TarInfo = entry) -> Iterator[bytes]:
                return read(cast(IO[bytes], archive.extractfile(entry)))  # there is one for every plain file

            yield Member(entry.name, entry.size, entry.isreg(), content_of)
    while content.read(CHUNK):
        pass


def _of_zip(raw: IO[bytes], read: Callable[[IO[bytes]], Iterator[bytes]]) -> Iterator[Member]:
    with zipfile.ZipFile(raw) as archive:
        for entry in archive.infolist():

            def content_of(entry: zipfile.ZipInfo = entry) -> Iterator[bytes]:
                return read(archive.open(entry))

            kind = entry.external_attr >> 28  # of Unix: 8 for a plain file, 0 where the archive comes from elsewhere
            encrypted = bool(entry.flag_bits & 1)
            yield Member(entry.filename, entry.file_size, kind in (0, 8) and not encrypted, content_of)


def _copy_whole(path: Path, member: Member, to: Path) -> None:
    if not member.plain:
        raise InputError(f"{path}: {member.name} is no plain file")
    to.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(to.parent)
    need_disk(to.parent, member.size, f"{path.name}: {member.name}")
    with whole_file(to) as temporary:
        _copy(member, temporary)


def _copy(member: Member, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as file:
        file.writelines(member.read())


def need_disk(folder: Path, size: int, what: str) -> None:
    """InputError unless so many bytes are free where the folder is."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise InputError(f"{what}: needs {size / 1e9:.1f} GB, {folder} has {free / 1e9:.1f} GB free; make room")
