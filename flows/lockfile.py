"""dvc.lock, in which DVC notes what has been made, is written in place: killed meanwhile, DVC leaves a part of it.

So a copy is kept of what it was after the last stage. What stages have been done since then is done once more, which
of a training takes no update.
"""

import os
import time
from pathlib import Path

import yaml
from dvc.schema import COMPILED_LOCKFILE_SCHEMA
from voluptuous import Invalid

from flows.locks import FOLDER, holder
from flows.waiting import Log

FILE = Path("dvc.lock")
KEPT = Path(".dvc/tmp/kept-dvc.lock")
SECONDS_TO_WRITE = 1.0


def keep() -> None:
    """Keep a copy, unless DVC is writing it for another stage."""
    if is_whole(FILE):
        unfinished = KEPT.with_name(f"{KEPT.name}.{os.getpid()}.{time.monotonic_ns()}")
        unfinished.write_bytes(FILE.read_bytes())
        if is_whole(unfinished):
            unfinished.replace(KEPT)
        else:
            unfinished.unlink()


def bring_back(log: Log) -> None:
    """Where the file is damaged and no DVC is at work on it, put the copy in its place; without one, delete it."""
    if not FILE.exists() or is_whole(FILE):
        return
    time.sleep(SECONDS_TO_WRITE)
    if is_whole(FILE) or holder(FOLDER):
        return
    FILE.replace(FILE.with_name("dvc.lock.damaged"))
    if KEPT.exists():
        KEPT.replace(FILE)
    log(
        f"{FILE}: damaged, as DVC leaves it when it is killed; it is {FILE}.damaged now, and what was kept of it after "
        f"the last stage {'is back' if FILE.exists() else 'is nothing yet'}"
    )


def is_whole(path: Path) -> bool:
    """Whether DVC can read it, to its end: a part of it may be such a file too."""
    try:
        content = path.read_bytes()
        COMPILED_LOCKFILE_SCHEMA(yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (OSError, yaml.YAMLError, Invalid):
        return False
    return content.endswith(b"\n")
