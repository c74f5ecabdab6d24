"""Reads files that may be packed with gzip."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from transformer.errors import InputError

DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)  # what reading raises where the file is none, or is not whole


@contextmanager
def open_gz(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name ends with .gz; InputError once they are read up to damage."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except DAMAGED as error:
        raise InputError(f"{path}: damaged: {error}") from None
