"""What a process needs before it does anything else, whatever started it. Imported first, by the package itself."""

import getpass
import os
import sys


def open_missing_streams() -> None:
    """Open /dev/null where standard input, output or error is closed.

    Else the next file that is opened becomes standard error, and `print(..., file=sys.stderr)`, which is None then,
    writes to standard output. `sys.stdin` and `sys.stdout` stay None: who needs them can say that they are closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # which is given the lowest free number
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def write_no_bytecode() -> None:
    """Leave no .pyc behind, in this process and those that it starts.

    Where a disk is full, Python writes half of one and fails at it from then on. What is installed is compiled already.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def name_the_user() -> None:
    """Set USER where this process's user id has no name, as in a container: libraries ask for it."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid-{os.getuid()}"
