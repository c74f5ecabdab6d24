"""The two ways in which a flow ends badly."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

# What the user can put right where a file cannot be read or written; as in `transformer/io/errors.py`.
OF_A_FILE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST}
OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE}
OF_DVC = re.compile(r"^ERROR: .*\[Errno (\d+)\]")


class BadInput(Exception):
    """Something the user gave is wrong. The message is one line that says what to do; the exit code is 2."""


class StageError(Exception):
    """A stage failed. `exit_code` is the stage's own where DVC tells it; `last_lines` are the last it wrote."""

    def __init__(self, stage: str, exit_code: int, last_lines: list[str], stopped: bool = False) -> None:
        """`stopped` says that it was ended on purpose, with its flow."""
        super().__init__(f"{stage} ended with exit code {exit_code}")
        self.stage = stage
        self.exit_code = exit_code
        self.last_lines = last_lines
        self.stopped = stopped
        self.repeated = False  # as it had failed before, to the word

    @property
    def is_bad_input(self) -> bool:
        """Whether only the user can help, so that to try again is no use."""
        found = next(filter(None, map(OF_DVC.match, reversed(self.last_lines))), None)
        return self.exit_code == 2 or (found is not None and int(found[1]) in OF_A_FILE | OF_THE_MACHINE)

    @property
    def own_line(self) -> str | None:
        """The last line that begins with `error: `, in which our commands say what was wrong."""
        return self._last("error: ")

    @property
    def cause(self) -> str:
        """The line in which the stage, else torchrun of a killed rank, else DVC says what was wrong; else the last."""
        said = self.own_line or self._last("  traceback : Signal ", "Signal ") or self._last("ERROR: ")
        return said or (self.last_lines[-1] if self.last_lines else "it said nothing")

    def _last(self, start: str, kept: str = "") -> str | None:
        """The last line that starts so, without it but for what is to be `kept`."""
        found = (line for line in reversed(self.last_lines) if line.startswith(start))
        return next((kept + line.removeprefix(start) for line in found), None)


@contextmanager
def files_as_input() -> Iterator[None]:
    """BadInput instead of an OSError in the block that only the user can put right."""
    try:
        yield
    except OSError as error:
        if error.errno in OF_THE_MACHINE or (error.errno in OF_A_FILE and error.filename):
            place = error.filename or "a file"
            raise BadInput(f"{place}: {error.strerror}; put that right, and the same command continues") from error
        raise
