"""Files and folders that appear whole or not at all: written beside their place, flushed to disk, renamed."""

import errno
import glob
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from transformer.io.errors import InputError
from transformer.io.progress import waiting


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which takes its place when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _errors_name(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            flush(temporary)
            temporary.replace(path)
            flush(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`, which takes the place of `path` when the block ends without an error.

    Whatever stood at `path` is there until the new folder is complete. One process at a time may write a folder.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _errors_name(path, temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):  # by a process that was killed here
            remove(left)
        temporary.mkdir()
        try:
            yield temporary
            _take_place(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def resumed_folder(path: Path, made_from: Any) -> Iterator[Path]:
    """Like `whole_folder`, but where the block ends with an error or is killed, the next one finds what it left.

    What helps to go on and is no part of the folder may lie beside it: its parent is deleted once it is at its place.

    Args:
        path: the place of the folder.
        made_from: all that its files depend on, as JSON; the block finds an empty folder if that was another one.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    folder, record = unfinished / path.name, unfinished / "made_from.json"
    if unfinished.exists() and not (folder.exists() and record.exists() and read_json(record) == made_from):
        record.unlink(missing_ok=True)  # first: nothing is gone on with of which a kill here leaves only some
        shutil.rmtree(unfinished)
    with _errors_name(path, folder):
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        write_json(record, made_from)
        yield folder
        _take_place(folder, path)
    shutil.rmtree(unfinished)


def _take_place(temporary: Path, path: Path) -> None:
    """Move a complete folder to `path`; what stood there is there until then."""
    for item in [*temporary.rglob("*"), temporary]:
        flush(item)
    old = temporary.with_suffix(".old.tmp")
    shutil.rmtree(old, ignore_errors=True)  # a process that was killed here may have left some of it
    if path.exists():
        path.replace(old)
    temporary.replace(path)
    flush(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Delete what processes that were killed while writing files or folders left in `folder`; no other may write there.

    `whole_folder` does so for its own path, but a training's next checkpoint has another name.
    """
    for pattern in (".*.tmp", ".tmp*"):  # ours, and the library safetensors': .tmpAbCdEf beside the file it writes
        for left in folder.glob(pattern):
            remove(left)


def remove(path: Path) -> None:
    """Delete a file, a folder, or a link to either."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def move_aside(path: Path, name: str) -> Path:
    """Rename `path` to `name` in its folder, or to a longer name where that one is taken; return its new place."""
    aside = path.with_name(name)
    if aside.exists():
        aside = path.with_name(f"{name}-{time.time_ns()}")
    return path.rename(aside)


@contextmanager
def _errors_name(path: Path, temporary: Path) -> Iterator[None]:
    """Let the errors of a disk that name no file, as those of writing, or the temporary one, name `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            error.filename = str(error.filename).replace(str(temporary), str(path))
        elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            error.filename = str(path)
        raise


def locked(path: Path, line: str, seconds: float = -1) -> AbstractContextManager[Any]:
    """Take the lock file `path`, to be held by `with`; where another process has it, say `line` and wait.

    filelock.Timeout after so many `seconds`; -1 waits for as long as it takes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with waiting(line):
        return FileLock(path).acquire(timeout=seconds)


def to_json(value: Any, indent: int | None = 2) -> str:
    """JSON that every program reads. A number that JSON lacks is a dict of its name, {"float": "Infinity"}."""
    return json.dumps(_named(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _named(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    return value


def from_json(text: str | bytes) -> Any:
    """What `to_json` wrote; ValueError if it is no JSON."""
    return json.loads(text, object_hook=lambda found: float(found["float"]) if found.keys() == {"float"} else found)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(to_json(value) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file that `to_json` made; InputError if it is missing or damaged."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: damaged ({error}); delete it and make it again") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
