"""Hashes of large files, with progress."""

import hashlib
from collections.abc import Collection
from pathlib import Path

from transformer.io.progress import bar

CHUNK = 1 << 20  # bytes
QUICK = 100_000_000  # bytes that are read and hashed, or unpacked, in a second or two


def digests(path: Path, names: Collection[str]) -> dict[str, str]:
    """Hashes of a file's bytes, by the names that hashlib has for them, in hexadecimal."""
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in names}
    size = path.stat().st_size
    with path.open("rb") as file, bar(size, f"{path.name}: checking", "B", hidden=size < QUICK) as shown:
        while chunk := file.read(CHUNK):
            for one in hashes.values():
                one.update(chunk)
            shown.update(len(chunk))
    return {name: one.hexdigest() for name, one in hashes.items()}
