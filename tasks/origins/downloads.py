"""Downloads a large file: goes on where it was cut off, tries mirrors in turn, and never leaves a wrong one behind.

While it is fetched its name ends with `.part`; beside it stands what the server said of it (`.part.json`), so that the
rest is asked for only while the server still has the same file. Else it starts anew.
"""

import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPMessage, InvalidURL
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transformer.io.errors import InputError
from transformer.io.files import write_json
from transformer.io.progress import SECONDS_UNTOLD, bar, every

PATIENCE = 60  # seconds that a server may be silent
PAUSES = (2, 10, 30)  # seconds, after failures without progress between them
CHUNK = 1 << 16  # bytes; little, so that a slow server is seen to send something
PASSING = {408, 429, 500, 502, 503, 504}  # answers that another try may change


class _Unavailable(Exception):
    """This address does not give the file."""


class _Cut(Exception):
    """This address may give more of the file in a while."""


def download(urls: list[str], part: Path, path: Path, size: int | None, check: Callable[[Path], object]) -> str:
    """Save at `path` what is at the first of the addresses that gives it; returns that address.

    Args:
        urls: mirrors, tried in this order.
        part: where it grows; what is there already is gone on with.
        path: where the file appears, whole and checked.
        size: in bytes, if known.
        check: InputError for a file that is not the wanted one; it is deleted then, and the next mirror tried.

    Raises:
        InputError: no mirror gives it. What was fetched so far stays in `part` for the next call.
    """
    faults = []
    for url in urls:
        try:
            _fetch(url, part, size, path.name)
            _check(url, part, check)
        except _Unavailable as fault:
            faults.append(str(fault))
            continue
        part.replace(path)
        _said(part).unlink(missing_ok=True)
        return url
    raise InputError("; ".join(faults))


def web_page(path: Path) -> str:
    """The end of a message about a file that is not the wanted one, if it begins as a web page does; else nothing."""
    with path.open("rb") as file:
        return "; it looks like a web page" if file.read(200).lstrip().startswith(b"<") else ""


def _check(url: str, part: Path, check: Callable[[Path], object]) -> None:
    try:
        check(part)
    except InputError as error:
        part.unlink()
        _said(part).unlink(missing_ok=True)
        raise _Unavailable(f"{url}: {error}") from None


def _fetch(url: str, part: Path, size: int | None, name: str) -> None:
    """Fetch the rest of the file, again after each cut, until tries without progress are used up."""
    failures, most = 0, _bytes(part)
    while True:
        try:
            return _transfer(url, part, size, name)
        except _Cut as cut:
            # A server without ranges begins anew each time: only what no try has reached is progress.
            failures = 0 if _bytes(part) > most else failures + 1
            most = max(most, _bytes(part))
            if failures > len(PAUSES):
                raise _Unavailable(f"{url}: {cut}") from None
            pause = PAUSES[max(0, failures - 1)]
            print(f"{name}: {cut}; trying again in {pause} s", file=sys.stderr, flush=True)
            time.sleep(pause)


def _transfer(url: str, part: Path, size: int | None, name: str) -> None:
    """One request; returns once the file is whole."""
    done = _bytes(part)
    if size is not None and done == size:
        return  # whole, but its check was cut off
    with _stall_told(url, part, name), _ask(url, part, done) as answer:
        if answer.status == 416:
            _beyond(answer, part, done)
            return
        start, total = _range(url, answer, part, done)
        if size is not None and total is not None and total != size:
            raise _Unavailable(f"{url}: {total:,} bytes, not {size:,}")
        if not start:  # a rest is of the version that was asked for, and need not name it (RFC 9110, section 15.3.7)
            write_json(_said(part), {"validator": _validator(answer.headers)})
        _save(answer, part, start, size if total is None else total, name)


@contextmanager
def _stall_told(url: str, part: Path, name: str) -> Iterator[None]:
    """Say it, once, when the file does not grow, as the server does not answer or sends nothing more."""
    size, told = _bytes(part), False

    def look() -> None:
        nonlocal size, told
        before, size = size, _bytes(part)
        if size == before and not told:
            print(f"{name}: waiting for {urlsplit(url).netloc.rpartition('@')[2]}", file=sys.stderr, flush=True)
            told = True

    with every(SECONDS_UNTOLD, look):
        yield


def _ask(url: str, part: Path, done: int) -> Any:
    """The server's answer, to be closed by `with`; of the errors, only that there is no rest is an answer."""
    try:
        return urllib.request.urlopen(_request(url, part, done), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error
        error.close()
        fault = f"the server answers {error.code} {str(error.reason).partition(chr(10))[0]}"
        raise (_Cut(fault) if error.code in PASSING else _Unavailable(f"{url}: {fault}")) from None
    except (ValueError, InvalidURL) as error:
        raise _Unavailable(f"{url}: no address: {error}") from None
    except (OSError, HTTPException) as error:
        raise _Cut(f"cannot be fetched: {getattr(error, 'reason', error)}") from None


def _request(url: str, part: Path, done: int) -> urllib.request.Request:
    request = urllib.request.Request(url)
    validator = json.loads(_said(part).read_text())["validator"] if _said(part).is_file() else None
    if done and validator:
        request.add_header("Range", f"bytes={done}-")
        request.add_header("If-Range", validator)
    return request


def _beyond(answer: Any, part: Path, done: int) -> None:
    """The server has nothing behind what is here: returns if that is the whole file."""
    if not done or answer.headers["Content-Range"] != f"bytes */{done}":
        part.unlink(missing_ok=True)
        raise _Cut("the file on the server is another one now")


def _range(url: str, answer: Any, part: Path, done: int) -> tuple[int, int | None]:
    """From which byte on the server sends, and how many the whole file has, if that is known."""
    if answer.headers.get_content_type() == "text/html":
        raise _Unavailable(f"{url}: a web page, not the file")
    length = answer.headers["Content-Length"]
    if answer.status != 206:
        return 0, int(length) if length else None
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers["Content-Range"] or "")
    if not found or int(found[1]) != done:
        part.unlink(missing_ok=True)  # else this address would never give the file, as it never gives its rest
        raise _Cut("the server does not send the rest that it was asked for, so from the beginning")
    return done, int(found[2])


def _validator(headers: HTTPMessage) -> str | None:
    """By which the server knows this version of the file (RFC 9110, section 13.1.5: no weak tags)."""
    tag = headers["ETag"]
    return tag if tag and not tag.startswith("W/") else headers["Last-Modified"]


def _save(answer: Any, part: Path, start: int, total: int | None, name: str) -> None:
    with part.open("r+b" if start else "wb") as file, bar(total, f"{name}: downloading", "B", done=start) as shown:
        file.seek(start)
        try:
            while chunk := _read(answer):
                file.write(chunk)
                shown.update(len(chunk))
        finally:
            file.flush()
            os.fsync(file.fileno())
    if total is not None and _bytes(part) < total:
        raise _Cut(f"cut off after {_bytes(part):,} of {total:,} bytes")


def _read(answer: Any) -> bytes:
    """The next bytes; of all that can fail while a file is saved, only this may go better in a while."""
    try:
        return bytes(answer.read(CHUNK))
    except (OSError, HTTPException) as error:
        raise _Cut(f"cut off: {error}") from None


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _said(part: Path) -> Path:
    return part.with_name(part.name + ".json")
