"""Pack a trained model for others: an archive, and its SHA-256 by which they know that it is the same.

    python -m tasks.release tiny

in:   models/E/  reports/scores/E.json
out:  releases/E.tar.gz            one folder, E/: the model folder, and its scores as scores.json
      releases/E.tar.gz.sha256     as `sha256sum --check` reads it

The same model gives the same bytes: nothing of this machine, its users or the time is in the archive. It is fetched
with `python -m tasks.fetch_model`.
"""

import gzip
import sys
import tarfile
from pathlib import Path

from tqdm.utils import CallbackIOWrapper

from tasks.common.paths import MODELS, RELEASES, REPORTS
from tasks.common.settings import key_argument
from tasks.results.curves import with_columns
from transformer.io.errors import run_main
from transformer.io.files import read_json, sha256, whole_file
from transformer.io.progress import bar
from transformer.translator import Translator


def main() -> None:
    """Release one experiment's model."""
    experiment = key_argument("experiment")
    archive = release(MODELS / experiment, REPORTS / "scores" / f"{experiment}.json", RELEASES)
    print(f"{archive}: {archive.stat().st_size:,} bytes, sha256 {sha256(archive)}")


def release(model: Path, scores: Path, folder: Path) -> Path:
    """Write the archive and its hash into `folder`; returns the archive. InputError if the model does not load.

    Scores that are of other weights than the model's are left out, which is said.
    """
    Translator.load(model)
    members = {file.name: file for file in model.iterdir() if file.is_file()}
    if _are_of(scores, model):
        members["scores.json"] = scores
    elif "scores.json" not in members:  # as in a model that was fetched
        print(f"{scores}: missing, or of other weights than {model}; released without scores", file=sys.stderr)
    archive = folder / f"{model.name}.tar.gz"
    with whole_file(archive) as temporary:
        _pack(model.name, dict(sorted(members.items())), temporary)
    with whole_file(archive.with_name(f"{archive.name}.sha256")) as temporary:
        temporary.write_text(f"{sha256(archive)}  {archive.name}\n", encoding="utf-8")
    return archive


def _are_of(scores: Path, model: Path) -> bool:
    """The stages hand training.json on, from the model to its scores."""
    if not scores.exists():
        return False
    scored, trained = read_json(scores)["training"], read_json(model / "training.json")
    return with_columns(scored) == with_columns(trained)


def _pack(name: str, members: dict[str, Path], path: Path) -> None:
    total = sum(file.stat().st_size for file in members.values())
    with (
        bar(total, f"{name}: packing", "B") as shown,
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for member, file in members.items():
            entry = tarfile.TarInfo(f"{name}/{member}")  # a file of mode 644 and time 0 that nobody owns
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(entry, CallbackIOWrapper(shown.update, content, "read"))


if __name__ == "__main__":
    run_main(main)
