"""Says for whom the flow waits, once that has taken two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Timer

SECONDS_UNTOLD = 2.0

Log = Callable[[str], None]


def say(line: str) -> None:
    """Print a line at once, where no flow is there yet to log it."""
    print(line, flush=True)


@contextmanager
def waiting(log: Log, line: str) -> Iterator[None]:
    """Log `line` if the block takes longer than two seconds."""
    timer = Timer(SECONDS_UNTOLD, copy_context().run, [log, line])  # Prefect's loggers look for their run there
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
