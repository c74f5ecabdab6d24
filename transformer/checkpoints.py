"""Checkpoints, to resume from, and snapshots, to average: folders of safetensors and plain JSON.

    FOLDER/checkpoint-00000500/     weights.safetensors
                                    optimizer.safetensors   the moments and the counter of Adam
                                    progress.json           update number, position in the data, what was counted
                                    settings.json           what it was made from: settings, hashes of the data
                                    sha256.json             of the other four
    FOLDER/snapshot-00000500.safetensors

The number is that of applied updates. No state of a random generator is kept: a training draws its random numbers anew
for each update. Everything appears whole or not at all, and a damaged checkpoint is noticed by its hashes: the one
before it is used.
"""

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from transformer.errors import InputError
from transformer.files import read_json, sha256, whole_file, whole_folder, write_json

KEPT_CHECKPOINTS = 2


def write_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    """Write `checkpoint-UPDATE` and delete all but the newest two. `progress["update"]` is its number."""
    with whole_folder(folder / f"checkpoint-{progress['update']:08d}") as temporary:
        write_tensors(temporary / "weights.safetensors", model.state_dict())
        write_tensors(temporary / "optimizer.safetensors", _optimizer_tensors(optimizer))
        write_json(temporary / "progress.json", progress)
        write_json(temporary / "settings.json", settings)
        write_json(temporary / "sha256.json", {file.name: sha256(file) for file in sorted(temporary.iterdir())})
    remove_old_checkpoints(folder)


def remove_old_checkpoints(folder: Path) -> None:
    """Delete all but the newest two."""
    for old in checkpoints(folder)[:-KEPT_CHECKPOINTS]:
        shutil.rmtree(old)


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(folder.glob("checkpoint-*"))


def resume(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Load the newest good checkpoint into model and optimizer and return its progress; None if there is none.

    A damaged one is named on stderr and passed over.
    """
    for path in reversed(checkpoints(folder)):
        try:
            for name, expected in read_json(path / "sha256.json").items():
                if sha256(path / name) != expected:
                    raise InputError(f"{path / name}: not what was written")
            progress: dict[str, Any] = read_json(path / "progress.json")
            weights = load_file(path / "weights.safetensors")
            moments = load_file(path / "optimizer.safetensors")
        except (InputError, OSError, SafetensorError) as error:
            print(f"warning: checkpoint {path} is damaged ({error}); looking at the one before it", file=sys.stderr)
            continue
        model.load_state_dict(weights)
        _restore_optimizer(optimizer, moments)
        return progress
    if checkpoints(folder):
        print(f"warning: no checkpoint in {folder} is good; training from the beginning", file=sys.stderr)
    return None


def write_snapshot(folder: Path, update: int, model: nn.Module, keep: int) -> None:
    """Write the weights of an update for averaging and delete all but the newest `keep`."""
    with whole_file(folder / f"snapshot-{update:08d}.safetensors") as temporary:
        write_tensors(temporary, model.state_dict())
    for old in snapshots(folder)[:-keep]:
        old.unlink()


def snapshots(folder: Path) -> list[Path]:
    """The snapshots in a folder, oldest first."""
    return sorted(folder.glob("snapshot-*.safetensors"))


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; InputError if it is missing or damaged."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: no readable weights ({error}); delete it and run its stage again") from None


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file. OSError if the disk is full: the library has an error of its own for it."""
    try:
        save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        if "os error 28" not in str(error):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
    path.chmod(0o644)  # the library leaves it to its owner alone


def average(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of the weights in several files (section 6.1), summed in fp64, returned in fp32.

    InputError names a file that is missing or damaged.
    """
    total = {name: tensor.double() for name, tensor in read_weights(paths[0]).items()}
    for path in paths[1:]:
        for name, tensor in read_weights(path).items():
            total[name] += tensor
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": tensor for index, part in state.items() for name, tensor in part.items()}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
