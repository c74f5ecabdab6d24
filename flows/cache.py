"""DVC's cache, which it believes unseen.

It takes an object for what its name says while it is write-protected and as old as DVC has noted, and so would give
back a damaged one as the result of a stage.
"""

import os
from contextlib import suppress
from pathlib import Path

OBJECTS = Path(".dvc/cache/files/md5")


def distrust() -> None:
    """Have DVC hash each object before it restores from it next. It drops one that is damaged, and makes it anew."""
    for path in OBJECTS.glob("*/*"):
        with suppress(OSError):  # DVC has dropped it, or may not either: it is another user's, or on a read-only disk
            if path.lstat().st_nlink == 1:  # else it is also a file of the workspace, whose time says what it holds
                path.chmod(0o644)
                os.utime(path)
