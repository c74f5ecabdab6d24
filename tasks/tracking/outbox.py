"""What is to be delivered to a server that may be away: kept in a file, sent by a thread, in order.

The file has one entry a line, as JSON, and after each delivery a line {"delivered": bytes up to the end of that entry}.
It only ever grows, so that a process may be killed at any moment, several may append, and what was logged can be read
there whatever becomes of the server. The lock beside it is held by the process that delivers.
"""

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from transformer.io.files import from_json, to_json

SECONDS_BETWEEN_TRIES = 5.0  # to deliver; a new entry brings a try too
PATIENCE = 60.0  # seconds without a delivery in which nothing fails: making the tables of a new database takes long
PATIENCE_IF_HELD_UP = 5.0  # seconds for which the end of a stage waits where the last try did not succeed

Entry = dict[str, Any]
Deliver = Callable[[Entry], None]


class Refused(Exception):
    """The server answers, but does not take an entry."""


class Outbox:
    """The file: entries, and how many of them have been delivered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0  # in bytes: of the last entry that was appended here
        self.delivered = 0  # in bytes: up to the last entry that any process has delivered
        self._read_to = 0
        self._pending: deque[tuple[int, Entry]] = deque()
        self._lock = FileLock(path.with_suffix(".lock"))

    def append(self, line: Entry) -> int:
        """Write a line with one system call; where it ends, in bytes. OSError if that cannot be."""
        data = to_json(line, indent=None).encode(errors="backslashreplace") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":  # a disk that was full took some of the line before
                data = b"\n" + data
            if os.write(file, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            return os.lseek(file, 0, os.SEEK_CUR)
        finally:
            os.close(file)

    def put(self, entry: Entry) -> None:
        """Append an entry. OSError as in `append`."""
        self.end = self.append(entry)

    def deliver_next(self, deliver: Deliver) -> bool:
        """Deliver the oldest entry; False if there is none.

        filelock.Timeout if another process is delivering; what `deliver` raises, and then the entry stays. Refused
        comes after the entry has been given up.
        """
        self._read()
        if not self._pending:
            return False
        with self._lock.acquire(blocking=False):
            self._read()  # another process may have delivered it
            if not self._pending:
                return False
            end, entry = self._pending[0]
            try:
                deliver(entry)
            except Refused:
                self._note(end)
                raise
            self._note(end)
        return True

    def _note(self, end: int) -> None:
        self.delivered = end
        self._pending.popleft()
        self.append({"delivered": end})

    def _read(self) -> None:
        """Take in the lines that have been appended since, by whichever process."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read_to += len(line)
                try:
                    entry = from_json(line)
                except ValueError:
                    continue  # torn
                if "delivered" in entry:
                    self.delivered = max(self.delivered, entry["delivered"])
                else:
                    self._pending.append((self._read_to, entry))
        while self._pending and self._pending[0][0] <= self.delivered:
            self._pending.popleft()


class Courier:
    """A thread that delivers an outbox until it is closed, and what others were left with by earlier processes.

    Args:
        own: where `put` appends.
        others: read once all of `own` is delivered.
        deliver: called with one entry after the other. Refused gives an entry up; any other error means that the server
            is away, and the entry is tried again.
        warn: called with each error.
    """

    def __init__(self, own: Outbox, others: list[Outbox], deliver: Deliver, warn: Callable[[Exception], None]) -> None:
        self.own, self.others, self.deliver, self.warn = own, others, deliver, warn
        self.failures = 0
        self.held_up = False  # the server is away, or another process holds a lock
        self.closed = False
        self._wake = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def put(self, entry: Entry) -> None:
        """Keep an entry, to be delivered; returns at once. OSError if the file cannot be written."""
        self.own.put(entry)
        self._wake.set()

    def flush(self, patience: float = PATIENCE) -> None:
        """Wait until all of `own` is delivered, for `patience` seconds without a delivery, or until a try fails."""
        failures, delivered, since = self.failures, -1, 0.0
        self._wake.set()
        while self.own.delivered < self.own.end and self.failures == failures:
            if self.own.delivered != delivered:
                delivered, since = self.own.delivered, time.monotonic()
            if time.monotonic() - since > (min(patience, PATIENCE_IF_HELD_UP) if self.held_up else patience):
                break
            time.sleep(0.02)

    def close(self) -> None:
        """End the thread after what it is doing; what is not delivered stays in the file."""
        self.closed = True
        self._wake.set()

    def _work(self) -> None:
        while not self.closed:
            self._wake.clear()
            seconds: float | None = None  # until something is put
            try:
                while not self.closed and self._deliver_one():
                    self.held_up = False
            except Timeout:
                self.held_up, seconds = True, 0.5
            except Refused as error:
                self.warn(error)
                continue
            except Exception as error:  # whatever a server can do wrong, the work goes on
                self.held_up, seconds = True, SECONDS_BETWEEN_TRIES
                self.warn(error)
                self.failures += 1
            if not self.closed:
                self._wake.wait(seconds)

    def _deliver_one(self) -> bool:
        return self.own.deliver_next(self.deliver) or self._deliver_of_others()

    def _deliver_of_others(self) -> bool:
        try:
            self.others = [other for other in self.others if self._deliver_of(other)]
        except Refused:
            raise
        except Exception:  # no concern of this stage: the next one tries them again
            self.others = []
        return bool(self.others)

    def _deliver_of(self, other: Outbox) -> bool:
        try:
            return other.deliver_next(self.deliver)
        except Timeout:  # the process that it belongs to delivers it
            return False
