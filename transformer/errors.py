"""What a user can put right: one clear line, exit code 2, no traceback."""

import errno
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches

LISTED = 15  # names, in an error line


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

    A full disk counts as such: what was being written is beside its place and never half in it. Ctrl-C ends a command
    without a word (a shell counts that as 130), and so does a reader that leaves, as `head` does, with exit code 1.
    Anything else is a defect: its traceback, one line that names it for whoever reads the last lines of a log, and
    exit code 1.
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        # Python ends by the signal itself if nothing catches this, and so a shell's loop around the command ends too.
        sys.excepthook = lambda *_: None
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            sys.exit(_complain(f"no disk space left to write {error.filename or 'a file'}: free some and start again"))
        traceback.print_exc()
        rank = f"rank {os.environ['RANK']}: " if int(os.environ.get("WORLD_SIZE", "1")) > 1 else ""
        sys.exit(f"error: {rank}{type(error).__name__}: {str(error).partition(chr(10))[0]}")


def _complain(message: str) -> int:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return 2
