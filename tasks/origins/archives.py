"""Text from published archives: fetched once into data/downloads, checked, and the wanted files unpacked beside them.

    data/downloads/training-parallel-europarl-v7.tgz
    data/downloads/unpacked/0224c7c710c8/training/europarl-v7.de-en.en   by the archive's sha256; complete if there
    data/downloads/unpacked/3b1f0a52c4d7/treebank/combined/              a folder of trees, likewise
    data/sources/archives/wmt14-test-full.tgz.json                       in git: sha256 and size of what came first

An archive for which params.yaml has no sha256 is trusted at its first download (if it has the published MD5, where
there is one), and later downloads, on any machine that has the note from git, are held to it.
"""

import sys
from pathlib import Path

from tasks.common.paths import DOWNLOADS, SOURCES
from tasks.common.settings import Archive, ArchivesOrigin, Download, Languages, TreesArchive
from tasks.origins.downloads import download, web_page
from tasks.origins.files import read_all, read_pairs
from tasks.origins.hashes import digests
from tasks.origins.swapped_sides import check_direction
from tasks.origins.texts import Texts
from tasks.origins.unpacking import NotWhole, is_archive, need_disk, unpack, unpack_folder
from transformer.io.errors import InputError
from transformer.io.files import locked, read_json, write_json

NOTES = SOURCES / "archives"


def read_archives(origin: ArchivesOrigin, languages: Languages, test_set: str) -> Texts:
    """Fetch what is not here yet; the pairs of all training archives, of the set `valid` and of the set `test_set`.

    Bytes that are not UTF-8 become U+FFFD in training text, whose pairs the cleaning drops and counts.
    """
    held_out = {"valid": origin.sets[origin.valid], "test": origin.sets[test_set]}
    ready = {split: prepare(archive) for split, archive in held_out.items()}
    train = [prepare(archive) for archive in origin.train]
    pairs = {split: check_direction(read_pairs(paths), languages, split) for split, (paths, _) in ready.items()}
    sources = [
        {"split": split, "file": f"{archive.file}: {name}", "licence": origin.terms, "sha256": sha256}
        for split, archive, (_, sha256) in [
            *(("train", archive, one) for archive, one in zip(origin.train, train, strict=True)),
            *((split, archive, ready[split]) for split, archive in held_out.items()),
        ]
        for name in archive.members
    ]
    about = (
        "From published archives, split as they came. The sha256 are those of the archives. "
        f"Validation is {origin.valid}, the test {test_set}."
    )
    return Texts({"train": read_all([paths for paths, _ in train], languages, "replace"), **pairs}, about, sources)


def prepare(
    archive: Archive | TreesArchive, downloads: Path = DOWNLOADS, notes: Path = NOTES
) -> tuple[list[Path], str]:
    """The wanted files of an archive, or its folder, unpacked, and the archive's sha256; fetches only what is missing.

    InputError if it cannot be had, is another file than the one known, or lacks what is wanted.
    """
    wanted = archive.members if isinstance(archive, Archive) else [archive.folder]
    note = notes / f"{archive.file}.json"
    waiting = f"{archive.file}: waiting for another process, which is fetching it"
    with locked(downloads / f"{archive.file}.lock", waiting):
        known = _known(archive, note)
        if known:
            files = [downloads / "unpacked" / known[:12] / name for name in wanted]
            if all(file.exists() for file in files):
                return files, known
        path = downloads / archive.file
        url, sha256 = _fetch(archive, path, known) if not path.is_file() else (None, _accept(archive, path, known))
        try:
            files = _unpack(archive, path, downloads / "unpacked" / sha256[:12], to_the_end=not known)
        except NotWhole as error:
            if known:
                raise
            if url:  # it came just now, and nothing has shown that all of it did
                path.unlink()
            raise InputError(f"{error}; {'it is deleted' if url else 'delete it to fetch it anew'}") from None
        if not known:
            write_json(note, {"from": url or "a file put there", "bytes": path.stat().st_size, "sha256": sha256})
            print(f"{archive.file}: its sha256 is now in {note}: keep that in git", file=sys.stderr, flush=True)
    return files, sha256


def _unpack(archive: Archive | TreesArchive, path: Path, folder: Path, to_the_end: bool) -> list[Path]:
    if isinstance(archive, TreesArchive):
        return [unpack_folder(path, archive.folder, folder)]
    return unpack(path, archive.members, folder, to_the_end)


def _known(archive: Download, note: Path) -> str | None:
    """The sha256 that the archive must have."""
    kind, _, digest = archive.checksum.partition(":")
    if kind == "sha256":
        return digest
    return str(read_json(note)["sha256"]) if note.is_file() else None


def _fetch(archive: Download, path: Path, known: str | None) -> tuple[str, str]:
    """Download it; the address that gave it, and its sha256."""
    size = archive.bytes if isinstance(archive.bytes, int) else None
    part = path.with_name(f"{path.name}.part")
    need_disk(path.parent, (size or 0) - (part.stat().st_size if part.is_file() else 0), archive.file)
    found = []
    try:
        url = download(archive.urls, part, path, size, lambda part: found.append(_check(archive, known, part)))
    except InputError as error:
        raise InputError(f"{error}. Add a mirror to its urls, or put the file at {path} yourself") from None
    return url, found[-1]


def _accept(archive: Download, path: Path, known: str | None) -> str:
    """The sha256 of an archive that is here already."""
    try:
        return _check(archive, known, path)
    except InputError as error:
        raise InputError(f"{path}: {error}; delete it to fetch it anew") from None


def _check(archive: Download, known: str | None, path: Path) -> str:
    """The sha256 of a file; InputError unless it is the archive that is wanted, as far as one can know."""
    kind, _, published = archive.checksum.partition(":")
    wanted = {"sha256": known} if known else {"md5": published} if kind == "md5" else {}
    found = digests(path, {"sha256", *wanted})
    for name, digest in wanted.items():
        if found[name] != digest:
            raise InputError(f"its {name} is {found[name]}, not {digest}{web_page(path)}")
    if archive.bytes not in (path.stat().st_size, "unknown"):
        raise InputError(f"{path.stat().st_size:,} bytes, not {archive.bytes:,}")
    if not is_archive(path):
        raise InputError("no archive that can be opened")
    return found["sha256"]
