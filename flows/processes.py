"""Ending all that a flow or the services started, whoever its parent is by now.

Everything below a process inherits its environment, so one variable with a value of its own marks a whole tree: also
what outlived its parent, and also when looked for from another process.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil


def marked_environment(variable: str, value: str) -> dict[str, str]:
    """This process's environment with the mark, for what it starts; this Python's programs come first in its PATH.

    The commands in dvc.yaml name programs of a virtual environment, which need not be activated.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, variable: value, "PYTHONUNBUFFERED": "1", "PATH": path}


def marked(variable: str, value: str) -> list[psutil.Process]:
    """The living processes that were started with `variable=value` in their environment; never the caller."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # gone meanwhile, a zombie, or another user's
            if process.pid != os.getpid() and process.environ().get(variable) == value:
                found.append(process)
    return found


def end_processes(find: Callable[[], list[psutil.Process]], grace: float = 10.0) -> None:
    """End what `find` finds: SIGTERM, `grace` seconds in which a training writes its checkpoint, then SIGKILL."""
    processes = find()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    psutil.wait_procs(processes, timeout=grace)
    for _ in range(20):  # what starts its next command while it is being ended is found in the next round
        processes = find()
        if not processes:
            return
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=0.5)
