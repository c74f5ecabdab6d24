"""Facts about published texts, which `origin` in params.yaml takes by name: tasks/common/catalogue.yaml."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from transformer.io.errors import InputError, did_you_mean

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # where PyYAML was built without its library in C
    from yaml import SafeLoader  # type: ignore[assignment]

CATALOGUE = Path(__file__).with_suffix(".yaml")


def with_facts(origin: dict[str, Any], languages: dict[str, Any]) -> dict[str, Any]:
    """An entry `origin` of params.yaml with what the catalogue says in the place of each name; others as they are.

    InputError, which begins with the key of `origin`, for a name that is not in the catalogue.
    """
    if origin.get("kind") == "wheels":
        return origin | _each(origin, "wheels", lambda name: {"name": name, **_entry("wheels", name)})
    if origin.get("kind") == "archives":
        return origin | _each(origin, "train", lambda name: _archive(name, languages)) | {"sets": _sets(languages)}
    if origin.get("kind") == "trees" and isinstance(name := origin.get("archive"), str):
        try:
            return origin | {"archive": _entry("treebanks", name)}
        except InputError as error:
            raise InputError(f"archive: {error}") from None
    return origin


@cache
def _read() -> Any:
    return yaml.load(CATALOGUE.read_text(encoding="utf-8"), SafeLoader)


def _each(origin: dict[str, Any], key: str, facts: Callable[[str], Any]) -> dict[str, Any]:
    """A list of names with facts in their place. What is no name is left for the check of types to judge."""
    if not isinstance(names := origin.get(key), list):
        return {}
    try:
        return {key: [facts(name) if isinstance(name, str) else name for name in names]}
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _entry(section: str, name: str) -> dict[str, Any]:
    known = _read()[section]
    if name not in known:
        raise InputError(f"no {name!r} among the {section} of {CATALOGUE.name}; {did_you_mean(name, known)}")
    return dict(known[name])


def _archive(name: str, languages: dict[str, Any]) -> dict[str, Any]:
    entry = _entry("archives", name)
    if not (members := _members(entry, languages)):
        raise InputError(f"{name} has no files of these languages, says {CATALOGUE.name}: only {[*entry['members']]}")
    return entry | {"members": members}


def _sets(languages: dict[str, Any]) -> dict[str, Any]:
    """The held-out sets of these languages."""
    found = {name: (entry, _members(entry, languages)) for name, entry in _read()["sets"].items()}
    return {name: entry | {"members": members} for name, (entry, members) in found.items() if members}


def _members(entry: dict[str, Any], languages: dict[str, Any]) -> list[str]:
    """The files of both sides, source first; none if it has no such languages."""
    source, target = languages.get("source"), languages.get("target")
    members: dict[str, list[str]] = entry["members"]
    return members.get(f"{source}-{target}") or members.get(f"{target}-{source}", [])[::-1]
