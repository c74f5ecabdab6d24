"""Hashes that are noted when something is written, and compared when it is read.

DVC looks at times and sizes, which a byte that a disk has lost leaves as they were.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transformer.io.errors import InputError
from transformer.io.files import sha256, to_json

KEY = "sha256"


def with_hash(facts: dict[str, Any]) -> dict[str, Any]:
    """Add the hash of what is written as JSON, as its last value."""
    return {**facts, KEY: _hash(facts)}


def without_hash(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Take it off again; InputError names the file it was read from if the rest is not what was written.

    A file of an older version, which has none, is taken as it is.
    """
    rest = {key: value for key, value in facts.items() if key != KEY}
    if facts.get(KEY, noted := _hash(rest)) != noted:
        raise InputError(f"{path}: not what was written; `git checkout {path}` brings it back, or run its stage again")
    return rest


def check_files(folder: Path, noted: Mapping[str, str], names: Iterable[str]) -> None:
    """Compare files with the hashes that were noted of them; InputError names one that is another.

    One without a hash, of an older version, is taken as it is; one that is missing is for its reader to name.
    """
    for path in (folder / name for name in names if name in noted):
        if path.exists() and sha256(path) != noted[path.name]:
            raise InputError(f"{path}: damaged, its SHA-256 is not the one noted when it was written; delete {folder}")


def _hash(facts: dict[str, Any]) -> str:
    return hashlib.sha256(to_json(facts).encode()).hexdigest()
