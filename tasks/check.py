"""Checks before any work, and tells DVC about files that are not in this folder.

    python -m tasks.check [EXPERIMENT ...]      # names, or shell patterns of names

in:   params.yaml, and the user's own files that it names (parallel text, trees, or a folder in the hub's layout)
out:  data/sources/C.json    for each corpus C of the experiments: names, sizes and hashes of these files

The stage corpus@C depends on data/sources/C.json, so that it runs again when the user's files change, wherever they
are; no path of this machine is in it. With no experiment named, the files of every corpus are looked at, and what is
missing is no error: data/sources/C.json then says so, unless it has seen the files before.
"""

import argparse
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tasks.hub import find_parquet, is_folder
from tasks.parallel_files import find_files
from tasks.paths import SOURCES
from tasks.settings import ORIGIN, Corpus, FilesOrigin, HubOrigin, TreesOrigin, read_params
from tasks.treebank import find_treebank, own_folder
from transformer.errors import InputError, did_you_mean, run_main
from transformer.files import sha256, to_json, write_json

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
        return {"kind": corpus.origin.kind}  # the rest stands in params.yaml
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


def _write_if_new(path: Path, value: dict[str, Any]) -> None:
    text = to_json(value) + "\n"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_json(path, value)


def main() -> None:
    """Check for the experiments named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help="a key of `experiments` in params.yaml, or a pattern"
    )
    check(parser.parse_args().experiments)


if __name__ == "__main__":
    run_main(main)
