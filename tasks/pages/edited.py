"""Pages that the stage `report` writes and a person may have changed: an edit is found, and kept.

The last line of a page is a comment, which no viewer shows, with the SHA-256 of all lines above it. Where those have
another one, a hand has changed them, and nothing else has to be remembered to tell so.
"""

import hashlib
import re
from pathlib import Path

from transformer.io.files import whole_file

_MARK = re.compile(rb"<!-- sha256 of the lines above, by which an edit is found: ([0-9a-f]{64}) -->\n\Z")


def write_page(path: Path, text: str) -> Path | None:
    """Write a page, whole or not at all; where a hand had changed what stood there, the path where that is now.

    An edit is kept beside the page, as table2.edited-1a2b3c4d.md, with the digits of its own hash.
    """
    before = path.read_bytes() if path.exists() else None
    kept = None
    if before is not None and not _is_as_written(before):
        kept = path.with_name(f"{path.stem}.edited-{_sha256(before)[:8]}{path.suffix}")
        _write(kept, before)
    lines = f"{text.rstrip()}\n\n".encode()
    mark = f"<!-- sha256 of the lines above, by which an edit is found: {_sha256(lines)} -->\n"
    _write(path, lines + mark.encode())
    return kept


def _is_as_written(page: bytes) -> bool:
    mark = _MARK.search(page)
    return mark is not None and mark[1].decode() == _sha256(page[: mark.start()])


def _sha256(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()


def _write(path: Path, page: bytes) -> None:
    with whole_file(path) as temporary:
        temporary.write_bytes(page)
