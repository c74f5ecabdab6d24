"""What a process of the flow needs before it does anything else, whatever started it; its stages inherit it.

`transformer/io/start.py` and `tasks/__init__.py` do the same for commands that are started by hand.
"""

import getpass
import os
import sys
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def open_missing_streams() -> None:
    """Open /dev/null where standard input, output or error is closed: see `transformer/io/start.py`."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def write_no_bytecode() -> None:
    """Leave no .pyc behind, in this process and its stages: see `transformer/io/start.py`."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def name_the_user() -> None:
    """Set USER where the user id has no name, as in a container; HOME, where there is none; Prefect's, if it must.

    DVC asks for the name; Prefect keeps its profiles below HOME, unless nothing can be written there.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid-{os.getuid()}"
    home, here = Path(os.path.expanduser("~")), str(Path(".prefect").resolve())  # noqa: PTH111
    if not home.is_absolute():  # it stays "~" where there is none
        os.environ["HOME"] = here
    if not os.access(home / ".prefect" if (home / ".prefect").exists() else home, os.W_OK):
        os.environ.setdefault("PREFECT_HOME", here)


def ask_loopback_directly() -> None:
    """Where the environment names a proxy, keep it from the servers on this machine: see `tasks/__init__.py`."""
    if not any(value and name.lower().endswith("_proxy") for name, value in os.environ.items()):
        return
    lower, upper = os.environ.get("no_proxy"), os.environ.get("NO_PROXY")
    for name, value in (("no_proxy", lower or upper), ("NO_PROXY", upper or lower)):
        hosts = [host.strip() for host in (value or "").split(",") if host.strip()]
        os.environ[name] = ",".join(hosts if "*" in hosts else dict.fromkeys([*hosts, *LOOPBACK]))
