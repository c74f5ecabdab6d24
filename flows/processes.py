"""Ending all that a flow or the services started, whoever its parent is by now.

Everything below a process inherits its environment, so one variable with a value of its own marks a whole tree: also
what outlived its parent, and also when looked for from another process.
"""

import os
import signal
import sys
import time
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


def is_dvc(process: psutil.Process) -> bool:
    """Whether it is a living process of DVC's, or may be: another user's cannot be looked at."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and "dvc" in (Path(part).name for part in process.cmdline()[:3])
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False


def end_processes(find: Callable[[], list[psutil.Process]], grace: float) -> None:
    """End what `find` finds: SIGTERM, `grace` seconds in which a training writes its checkpoint, then SIGKILL."""
    # DVC ends by itself once its stage has, and so leaves its list of locks in order.
    _signal([process for process in find() if not is_dvc(process)], signal.SIGTERM)
    deadline = time.monotonic() + grace
    # Looked for again and again, not waited for: psutil would take a child's exit code from the thread that runs it,
    # and what starts its next command while it is being ended would be missed.
    while left := find():
        if time.monotonic() > deadline + 30.0:
            raise TimeoutError(f"processes {[process.pid for process in left]} cannot be killed")
        if time.monotonic() > deadline:
            _signal(left, signal.SIGKILL)
        time.sleep(0.1)


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
