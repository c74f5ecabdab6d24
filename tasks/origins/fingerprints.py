"""Checks that the text of corpora can be had, and notes what tells whether it is still the same.

data/sources/C.json    names, sizes and hashes of a user's own files, or what the catalogue says of published ones

The stage corpus@C depends on it. No path is in it.
"""

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tasks.common.paths import SOURCES
from tasks.common.settings import (
    ORIGIN,
    ArchivesOrigin,
    Corpus,
    FilesOrigin,
    HubOrigin,
    TreesOrigin,
    WheelsOrigin,
    read_params,
)
from tasks.origins.files import find_files
from tasks.origins.hub import find_parquet, is_folder
from tasks.origins.treebank import find_treebank, own_folder
from transformer.io.errors import InputError, did_you_mean
from transformer.io.files import sha256, to_json, write_json

LARGE = 2_000_000_000  # bytes, a second or two


def check(experiments: list[str], sources: Path = SOURCES) -> None:
    """Check params.yaml and the named experiments, or all corpora, and write what DVC shall watch.

    InputError for an unknown experiment, or for a named one whose corpus cannot be had.
    """
    params = read_params()
    named: dict[str, None] = {}
    for pattern in experiments:
        matching = [one.corpus for name, one in params.experiments.items() if fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(f"params.yaml: no experiment {pattern!r}; {did_you_mean(pattern, params.experiments)}")
        named |= dict.fromkeys(matching)
    for name in named or params.corpora:
        path = sources / f"{name}.json"
        if name not in named and path.exists() and _went_away(params.corpora[name].origin):
            continue
        try:
            _write_if_new(path, _fingerprint(params.corpora[name]))
        except InputError as error:
            if name in named:
                raise InputError(f"corpus {name}: {error}") from None
            if not path.exists():
                write_json(path, {"missing": "its files were not found"})


def _went_away(origin: ORIGIN) -> bool:
    """Whether trees would be fetched now; what was made of a folder of them is not old for that."""
    return isinstance(origin, TreesOrigin) and origin.archive is not None and own_folder(origin) is None


def _fingerprint(corpus: Corpus) -> dict[str, Any]:
    """What tells whether the text outside this folder is still the same."""
    files = _own_files(corpus.origin)
    if not files:
        return {"kind": corpus.origin.kind, **_published(corpus)}
    size = sum(path.stat().st_size for _, path in files)
    if size > LARGE:
        print(f"hashing {size / 1e9:.1f} GB of your own text", file=sys.stderr, flush=True)
    facts = [
        {"split": split, "name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}
        for split, path in files
    ]
    return {"kind": corpus.origin.kind, "files": facts}


def _own_files(origin: ORIGIN) -> list[tuple[str, Path]]:
    """The user's own files with their splits; none for text that is fetched."""
    if isinstance(origin, FilesOrigin):
        return [(split, path) for split, parts in find_files(origin).items() for pair in parts for path in pair]
    if isinstance(origin, TreesOrigin) and (folder := own_folder(origin)):
        found = find_treebank(origin, folder)
        return [(split, path) for split, files in found.items() for file in files for path in file.paths]
    if isinstance(origin, HubOrigin) and is_folder(origin):
        return [(split, path) for split, paths in find_parquet(origin).items() for path in paths]
    return []


def _published(corpus: Corpus) -> dict[str, Any]:
    """The catalogue's facts on text that is fetched; where it is fetched from does not change it."""
    origin, without = corpus.origin, {"urls"}
    if isinstance(origin, WheelsOrigin):
        return {"wheels": [wheel.model_dump() for wheel in origin.wheels]}
    if isinstance(origin, ArchivesOrigin):
        held_out = {name: origin.sets[name].model_dump(exclude=without) for name in (origin.valid, corpus.test_set)}
        return {"train": [archive.model_dump(exclude=without) for archive in origin.train], "sets": held_out}
    if isinstance(origin, TreesOrigin) and origin.archive:
        return {"archive": origin.archive.model_dump(exclude=without)}
    return {}


def _write_if_new(path: Path, value: dict[str, Any]) -> None:
    text = to_json(value) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_json(path, value)
