"""Progress for whatever takes more than two seconds: a bar on a terminal, a plain line every ten seconds in a log."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

from tqdm import tqdm

T = TypeVar("T")
SECONDS_UNTOLD = 2.0  # that a wait may take without a word


class _Lines:
    """A text stream on which each redrawing of a bar becomes a line of its own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        text = text.replace("\r", "").strip()
        if text:
            self.stream.write(text + "\n")

    def flush(self) -> None:
        self.stream.flush()


def bar(total: int | None, what: str, unit: str, done: int = 0, hidden: bool = False) -> Any:
    """A tqdm bar on stderr that counts `unit`s up to `total`, starting at `done`; `total` is None if nobody knows."""
    scale = total is None or total >= 1000  # 1.29k/2.40k, but 3/8
    common: dict[str, Any] = {
        "total": total, "desc": what, "unit": unit, "initial": done, "unit_scale": scale, "disable": hidden
    }  # fmt: skip
    if sys.stderr.isatty():
        return tqdm(**common, dynamic_ncols=True)
    layout = "{desc}: {n_fmt}/{total_fmt} {unit} {rate_fmt}, {elapsed} gone, {remaining} left{postfix}"
    if total is None:
        layout = "{desc}: {n_fmt} {unit} {rate_fmt}, {elapsed} gone{postfix}"
    return tqdm(**common, file=_Lines(sys.stderr), mininterval=10, maxinterval=10, bar_format=layout)


def track(items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and show how far they are."""
    with bar(total, what, unit) as shown:
        for item in items:
            yield item
            shown.update()


@contextmanager
def waiting(line: str) -> Iterator[None]:
    """Say `line` on stderr if the block, which waits for someone else, takes longer than two seconds."""
    timer = threading.Timer(SECONDS_UNTOLD, lambda: print(line, file=sys.stderr, flush=True))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def every(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call `action` again and again, from another thread, while the block lasts."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(seconds):
            action()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
