"""Take over a model that someone else trained and released, checked by its SHA-256 before it is unpacked.

    python -m tasks.fetch_model https://example.org/tiny.tar.gz --sha256 HASH
    python -m tasks.fetch_model tiny.tar.gz --sha256 HASH --name their-tiny

in:   an archive as `python -m tasks.release` writes it: an address, or a file
out:  models/NAME/    as stage average@NAME would write it; NAME is that of the folder in the archive

HASH is that in tiny.tar.gz.sha256; take it from someone you trust, since it is what the archive is checked by. Then
`python -m transformer models/NAME` translates, and `python -m tasks.evaluate models/NAME SOURCE REFERENCE` scores.
"""

import argparse
import gzip
import re
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path, PurePosixPath

from tasks.paths import MODELS
from transformer.errors import InputError, run_main
from transformer.files import sha256, whole_folder
from transformer.progress import bar
from transformer.translator import Translator

PATIENCE = 60  # seconds that a server may be silent
CHUNK = 1 << 20  # bytes


def main() -> None:
    """Fetch one model."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.fetch_model", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", help="an address that starts with http:// or https://, or a file")
    parser.add_argument("--sha256", required=True, help="64 hexadecimal digits")
    parser.add_argument("--name", help="of the folder below models/, if not that in the archive")
    arguments = parser.parse_args()
    folder = fetch_model(arguments.archive, arguments.sha256.lower(), arguments.name, MODELS)
    print(f"{folder}: ready; `python -m transformer {folder}` translates with it")


def fetch_model(archive: str, expected: str, name: str | None, models: Path) -> Path:
    """Put the model of an archive into the folder `models`; returns its folder there.

    InputError, with nothing written, for an archive that cannot be had, has another hash than `expected` or is no
    model, and for a model of this name that is there already.
    """
    if not re.fullmatch("[0-9a-f]{64}", expected):
        raise InputError(f"--sha256 {expected}: not 64 hexadecimal digits")
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch.", dir=models) as temporary:
        file = Path(archive)
        if re.match("https?://", archive):
            file = Path(temporary) / "archive"
            _download(archive, file)
        elif not file.is_file():
            raise InputError(f"{archive}: no such file, nor an address that starts with http:// or https://")
        if (found := sha256(file)) != expected:
            with file.open("rb") as start:
                page = "; it looks like a web page" if start.read(200).lstrip().startswith(b"<") else ""
            raise InputError(f"{archive}: its sha256 is {found}, not {expected}{page}; nothing was unpacked")
        return _unpack(archive, file, name, models)


def _download(address: str, path: Path) -> None:
    """Save what is at the address; InputError unless the server sends all of it."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer, path.open("wb") as file:
            size = int(answer.headers["Content-Length"]) if answer.headers["Content-Length"] else None
            with bar(size, address, "B") as shown:
                while chunk := answer.read(CHUNK):
                    file.write(chunk)
                    shown.update(len(chunk))
    except urllib.error.HTTPError as error:
        raise InputError(f"{address}: the server answers {error.code} {error.reason}") from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError, ValueError) as error:
        raise InputError(f"{address}: cannot be fetched: {getattr(error, 'reason', error)}") from None
    if size is not None and path.stat().st_size != size:
        raise InputError(f"{address}: ended after {path.stat().st_size:,} of {size:,} bytes; try again")


def _unpack(archive: str, file: Path, name: str | None, models: Path) -> Path:
    """Unpack into a folder beside its place, load the model once, and put it there."""
    try:
        with tarfile.open(file, "r:gz") as packed:
            members = _members(archive, packed)
            name = name or str(PurePosixPath(members[0].name).parent)
            if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
                raise InputError(f"{archive}: {name!r} is no name for a model; give one of letters, digits, - and _")
            folder = models / name
            if folder.exists():
                raise InputError(f"{folder}: there is a model already; move it away, or give another --name")
            with whole_folder(folder) as temporary:
                for member in members:
                    alone = member.replace(name=PurePosixPath(member.name).name, deep=False)
                    packed.extract(alone, temporary, filter="data")
                _check(archive, temporary)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{archive}: cannot be unpacked: {error}") from None
    return folder


def _check(archive: str, folder: Path) -> None:
    """InputError unless a translator can be made of it."""
    try:
        Translator.load(folder)
    except InputError as error:
        raise InputError(f"{archive}: no model: {str(error).replace(f'{folder}/', '')}") from None


def _members(archive: str, packed: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The files of the model; InputError unless they are plain files in one folder."""
    members = [member for member in packed.getmembers() if not member.isdir()]
    folders = {str(PurePosixPath(member.name).parent) for member in members}
    if len(folders) != 1:
        raise InputError(f"{archive}: no model: its files are not in one folder; nothing was unpacked")
    for member in members:
        if not member.isreg():
            raise InputError(f"{archive}: no model: {member.name} is no plain file; nothing was unpacked")
    return members


if __name__ == "__main__":
    run_main(main)
