"""What a user can put right: one clear line, exit code 2, no traceback."""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches

LISTED = 15  # names, in an error line

# What is wrong where a file cannot be read or written, and what to do. Anything else that the system refuses, and these
# without a name of a file, are taken for a defect of ours.
OF_A_FILE = {
    errno.EACCES: "permission denied; give this user the right to it",
    errno.EPERM: "not permitted; give this user the right to it",
    errno.EROFS: "it is on a read-only file system; make that writable, or move this folder",
    errno.ENAMETOOLONG: "the name is too long for this file system; use a shorter one, or move this folder",
    errno.EISDIR: "a folder is where a file should be; move it away",
    errno.ENOTDIR: "a file is where a folder should be; move it away",
    errno.EEXIST: "a file is where a folder should be; move it away",
}
OF_THE_MACHINE = {
    errno.ENOSPC: "no disk space left to write {}: free some and start again",
    errno.EDQUOT: "no disk space left in the quota to write {}: free some and start again",
    errno.EFBIG: "{} has become larger than a file may be here; see `ulimit -f` and what this file system allows",
    errno.EMFILE: "too many open files to open {}; raise the limit, say with `ulimit -n 65536`",
    errno.ENFILE: "too many open files on this machine to open {}; end other programs, or raise its limit",
}


class InputError(Exception):
    """Something the user gave is wrong. The message names the file, line or key and says what to do."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error line about a word that is not among the `known` ones: the nearest, else the first of them."""
    known = list(known)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    nearest = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(known[:LISTED])}{more}"


def run_main(main: Callable[[], None]) -> None:
    """Run a command's `main`; end with one line on stderr and exit code 2 where the user can help.

    A full disk counts as such, a folder that cannot be written to and their kind too: what was being written is beside
    its place and never half in it. Ctrl-C ends a command without a word (a shell counts that as 130), and so does a
    reader that leaves, as `head` does, with exit code 1. Anything else is a defect: its traceback, one line that names
    it for whoever reads the last lines of a log, and exit code 1.
    """
    try:
        try:
            main()
        finally:
            if sys.stdout:  # None where it is closed
                sys.stdout.flush()  # here, since what Python itself cannot write at its end makes noise
    except InputError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:
        if sys.stdout:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        # Python ends by the signal itself if nothing catches this, and so a shell's loop around the command ends too.
        sys.excepthook = lambda *_: None
        raise
    except Exception as error:
        if isinstance(error, OSError) and (line := explain(error)):
            sys.exit(_complain(line))
        traceback.print_exc()
        alone = os.environ.get("WORLD_SIZE", "1") == "1"
        rank = "" if alone or "RANK" not in os.environ else f"rank {os.environ['RANK']}: "
        sys.exit(f"error: {rank}{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def explain(error: OSError) -> str | None:
    """A line that says what the user can do, if it is the user who can: see OF_A_FILE and OF_THE_MACHINE."""
    if error.errno in OF_THE_MACHINE:
        return OF_THE_MACHINE[error.errno].format(error.filename or "a file")
    if error.errno in OF_A_FILE and error.filename:
        return f"{error.filename}: {OF_A_FILE[error.errno]}"
    if error.errno in OF_A_FILE and error.strerror != os.strerror(
        error.errno
    ):  # pyarrow's, with the name in a sentence
        return f"{error.strerror}: {OF_A_FILE[error.errno]}".replace("\n", " ")
    return None


def _complain(message: str) -> int:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return 2
