"""DVC's list of the paths that its processes read and write, cleared of what killed ones left in it.

DVC itself drops the entries of processes that are gone. It waits for ever where a zombie or another program has the
number now, and stops at a list that was left half written.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from dvc.lock import Lock

from flows.processes import is_dvc

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


def _alive(info: dict[str, Any]) -> bool:
    with suppress(psutil.NoSuchProcess):
        return is_dvc(psutil.Process(info["pid"]))
    return False
