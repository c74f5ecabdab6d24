"""DVC's locks: who has that of the folder, and the list of the paths that its processes read and write.

The list is cleared of what killed ones left in it: DVC itself drops the entries of processes that are gone, but waits
for ever where a zombie or another program has the number now, and stops at a list that was left half written.
"""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
from dvc.lock import Lock

from flows.processes import is_dvc
from flows.waiting import SECONDS_UNTOLD, Log

FOLDER = Path(".dvc/tmp/lock")
LOCKS = Path(".dvc/tmp/rwlock")
GUARD = Path(".dvc/tmp/rwlock.lock")


def clear_dead_locks() -> None:
    """Drop each entry whose process is no living DVC; drop the whole list if it cannot be read."""
    with Lock(str(GUARD)):
        try:
            locks = json.loads(LOCKS.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            LOCKS.unlink()
            return
        write = {path: info for path, info in locks.get("write", {}).items() if _alive(info)}
        read = {path: list(filter(_alive, infos)) for path, infos in locks.get("read", {}).items()}
        left = {"write": write, "read": {path: infos for path, infos in read.items() if infos}}
        LOCKS.write_text(json.dumps(left, allow_nan=False), encoding="utf-8")


def holder(path: Path) -> int | None:
    """The process that has locked a file in which such a process writes its number; None if none has."""
    try:
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0) or None  # it may not have written its number yet
    except FileNotFoundError:
        pass
    return None


@contextmanager
def told_of_lock(pid: int, log: Log) -> Iterator[None]:
    """Say it, while the DVC process `pid` runs, when it waits for the lock of the folder: DVC itself says nothing.

    It waits if another process has the lock and its own stage does not run.
    """
    done = Event()

    def look() -> None:
        before = told = None
        while not done.wait(SECONDS_UNTOLD):
            with suppress(OSError, ValueError, psutil.Error):  # what cannot be looked at is not told
                now = holder(FOLDER)
                if now and now == before and now not in (pid, told) and not _works(pid):
                    log(f"waiting: process {now} has locked this folder for DVC ({FOLDER})")
                    told = now
                before = now

    thread = Thread(target=copy_context().run, args=(look,))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _works(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).children())
    return False


def _alive(info: dict[str, Any]) -> bool:
    with suppress(psutil.NoSuchProcess):
        return is_dvc(psutil.Process(info["pid"]))
    return False
