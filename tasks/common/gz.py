"""Reads files that may be packed with gzip."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from transformer.io.errors import InputError
from transformer.io.packed import ENOUGH, KINDS, packed_with

DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)  # what reading raises where the file is none, or is not whole


def without_gz(name: str) -> str:
    """The name of a file once it is unpacked."""
    return name[: -len(".gz")] if name.lower().endswith(".gz") else name


@contextmanager
def open_gz(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name ends with .gz; InputError once they are read up to damage.

    InputError also for a file that is packed otherwise than its name says, which is no text.
    """
    named = without_gz(path.name) != path.name
    try:
        with path.open("rb") as raw:
            kind = packed_with(raw.peek(ENOUGH))
            if kind and not (named and kind == "gzip"):
                raise InputError(f"{path}: {not_read(kind)}")
            with gzip.open(raw) if named else raw as file:
                yield cast(BinaryIO, file)
    except DAMAGED as error:
        raise InputError(f"{path}: damaged: {error}") from None


def not_read(kind: str) -> str:
    """What a file is, and what to do with it."""
    if kind == "gzip":
        return "packed with gzip, which its name does not say: add .gz to it, or unpack it with gunzip"
    return f"packed with {kind}, and only plain text and .gz are read here: unpack it with {KINDS[kind][0]}"
