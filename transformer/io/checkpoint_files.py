"""The folder of a training's checkpoints and snapshots: which there are, which are good, what is deleted.

    FOLDER/checkpoint-00000500/             see transformer/checkpoints.py, which writes and loads them
    FOLDER/snapshot-00000500.safetensors
    FOLDER/damaged-checkpoint-00000700/     moved aside; nothing here reads or deletes it

Other names are a user's own and are left alone. Only what is older than a checkpoint with good hashes is deleted, and a
damaged checkpoint does not count among those that are kept. This module needs no torch.
"""

import errno
import re
import sys
from pathlib import Path

from transformer.io.errors import InputError
from transformer.io.files import move_aside, read_json, remove, sha256

KEPT_CHECKPOINTS = 2
CHECKPOINT_FILES = ("weights.safetensors", "optimizer.safetensors", "progress.json", "settings.json")
_CHECKPOINT = re.compile(r"checkpoint-([0-9]{8}|[1-9][0-9]{8,})")
_SNAPSHOT = re.compile(r"snapshot-([0-9]{8}|[1-9][0-9]{8,})\.safetensors")


def checkpoint_path(folder: Path, update: int) -> Path:
    """Return the place of the checkpoint after `update`."""
    return folder / f"checkpoint-{update:08d}"


def snapshot_path(folder: Path, update: int) -> Path:
    """Return the place of the snapshot after `update`."""
    return folder / f"snapshot-{update:08d}.safetensors"


def checkpoints(folder: Path) -> list[Path]:
    """List the checkpoints of a folder, lowest update first."""
    return [path for path in _numbered(folder, _CHECKPOINT) if path.is_dir()]


def snapshots(folder: Path) -> list[Path]:
    """List the snapshots of a folder, lowest update first."""
    return [path for path in _numbered(folder, _SNAPSHOT) if path.is_file()]


def update_of(path: Path) -> int:
    """Return the update number in the name of a checkpoint or snapshot."""
    match = _CHECKPOINT.fullmatch(path.name) or _SNAPSHOT.fullmatch(path.name)
    assert match
    return int(match[1])


def set_aside_damaged(folder: Path) -> None:
    """Leave in `folder` the newest two good checkpoints only; say which damaged ones were moved aside.

    Raises:
        InputError: there are checkpoints and none is good. Nothing is moved: training from the beginning again is
            the user's decision.
    """
    good: list[Path] = []
    damaged: dict[Path, str] = {}
    for path in reversed(checkpoints(folder)):
        if len(good) == KEPT_CHECKPOINTS:
            remove(path)
        elif problem := damage(path):
            damaged[path] = problem
        else:
            good.append(path)
    if damaged and not good:
        problems = "; ".join(f"{path.name}: {problem}" for path, problem in damaged.items())
        raise InputError(
            f"{folder}: no checkpoint is good ({problems}); put a good copy in its place, or move {folder} away "
            "to train from the beginning"
        )
    for path, problem in damaged.items():
        aside = move_aside(path, f"damaged-{path.name}")
        print(f"warning: {path}: damaged ({problem}); moved to {aside.name}", file=sys.stderr, flush=True)


def remove_older_checkpoints(folder: Path, update: int) -> None:
    """Delete all checkpoints before that of `update`, which is good, but the one before it."""
    older = [path for path in checkpoints(folder) if update_of(path) < update]
    for path in older[: 1 - KEPT_CHECKPOINTS]:
        remove(path)


def remove_older_snapshots(folder: Path, update: int, keep: int) -> None:
    """Delete all snapshots up to that of `update` but the newest `keep`."""
    until = [path for path in snapshots(folder) if update_of(path) <= update]
    for path in until[:-keep]:
        remove(path)


def damage(checkpoint: Path) -> str | None:
    """Return which file of a checkpoint is not what was written, by its hashes; None if all are."""
    try:
        hashes = read_json(checkpoint / "sha256.json")
        if not isinstance(hashes, dict) or hashes.keys() != set(CHECKPOINT_FILES):
            return "sha256.json: not what was written"
        for name in CHECKPOINT_FILES:
            if sha256(checkpoint / name) != hashes[name]:
                return f"{name}: not what was written"
        return None
    except InputError:
        return "sha256.json: missing or not JSON"
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO):
            raise  # no right, too many open files, a server that is away: nothing of that is damage
        return f"{Path(error.filename or checkpoint).name}: {error.strerror}"


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if pattern.fullmatch(path.name)), key=update_of)
