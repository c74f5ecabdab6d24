"""Take over a model that someone else trained and released, checked by its SHA-256 before it is unpacked.

    python -m tasks.fetch_model https://example.org/tiny.tar.gz --sha256 HASH
    python -m tasks.fetch_model tiny.tar.gz --sha256 HASH --name their-tiny

in:   an archive as `python -m tasks.release` writes it: an address, or a file
out:  models/NAME/    as stage average@NAME would write it; NAME is that of the folder in the archive

HASH is that in tiny.tar.gz.sha256; take it from someone you trust, since it is what the archive is checked by. Then
`python -m transformer models/NAME` translates, and `python -m tasks.evaluate models/NAME SOURCE REFERENCE` scores.
"""

import argparse
import re
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from tasks.common.gz import DAMAGED
from tasks.common.paths import MODELS
from tasks.origins.downloads import download, web_page
from transformer.io.errors import InputError, run_main
from transformer.io.files import sha256, whole_folder
from transformer.translator import Translator


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
    does = " --trees` parses" if Translator.load(folder).config.text.trees else "` translates"
    print(f"{folder}: ready; `python -m transformer {folder}{does} with it")


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
            part = file.with_suffix(".part")
            download([archive], part, file, None, lambda part: _check_hash(part, expected))
        elif file.is_file():
            try:
                _check_hash(file, expected)
            except InputError as error:
                raise InputError(f"{archive}: {error}") from None
        else:
            raise InputError(f"{archive}: no such file, nor an address that starts with http:// or https://")
        return _unpack(archive, file, name, models)


def _check_hash(file: Path, expected: str) -> None:
    if (found := sha256(file)) != expected:
        raise InputError(f"its sha256 is {found}, not {expected}{web_page(file)}; nothing was unpacked")


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
                    content = packed.extractfile(member)
                    assert content is not None  # as it is for every plain file
                    with (temporary / PurePosixPath(member.name).name).open("wb") as file_of_model:
                        shutil.copyfileobj(content, file_of_model)
                _check(archive, temporary)
    except (tarfile.TarError, *DAMAGED) as error:
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
        if not member.isreg() or PurePosixPath(member.name).name == "..":
            raise InputError(f"{archive}: no model: {member.name} is no plain file; nothing was unpacked")
    return members


if __name__ == "__main__":
    run_main(main)
