"""What checkpoints, to resume from, and snapshots, to average, hold: safetensors and plain JSON.

    FOLDER/checkpoint-00000500/     weights.safetensors
                                    optimizer.safetensors   the moments and the counter of Adam
                                    progress.json           update number, position in the data, what was counted
                                    settings.json           what it was made from: settings, hashes of the data
                                    sha256.json             of the other four
    FOLDER/snapshot-00000500.safetensors

The number is that of applied updates. No state of a random generator is kept: a training draws its random numbers anew
for each update. Everything appears whole or not at all. Each safetensors file holds a hash of its tensors, so that a
byte that changed on the disk is noticed wherever weights are read.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer.io.checkpoint_files import (
    CHECKPOINT_FILES,
    checkpoint_path,
    remove_older_checkpoints,
    remove_older_snapshots,
    snapshot_path,
)
from transformer.io.errors import InputError
from transformer.io.files import read_json, sha256, to_json, whole_file, whole_folder, write_json

_HASH = "sha256"  # the key, in the metadata of a safetensors file
# Names that parameters had when older files were written.
_RENAMED = {"norms.0.": "encoder_norm.", "norms.1.": "decoder_norm."}
_MEND = "put a good copy in its place or make it again"


def write_checkpoint(
    folder: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    """Write the checkpoint of `progress["update"]` and delete all before it but one."""
    with whole_folder(checkpoint_path(folder, progress["update"])) as temporary:
        write_tensors(temporary / "weights.safetensors", model.state_dict())
        write_tensors(temporary / "optimizer.safetensors", _optimizer_tensors(optimizer))
        write_json(temporary / "progress.json", progress)
        write_json(temporary / "settings.json", settings)
        write_json(temporary / "sha256.json", {name: sha256(temporary / name) for name in CHECKPOINT_FILES})
    remove_older_checkpoints(folder, progress["update"])


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Load a checkpoint into model and optimizer and return its progress; InputError if a file is damaged."""
    progress: dict[str, Any] = read_json(path / "progress.json")
    model.load_state_dict(read_weights(path / "weights.safetensors"))
    _restore_optimizer(optimizer, read_weights(path / "optimizer.safetensors"))
    return progress


def write_snapshot(folder: Path, update: int, model: nn.Module, keep: int) -> None:
    """Write the weights of an update for averaging and delete all before it but the newest `keep`, itself included."""
    with whole_file(snapshot_path(folder, update)) as temporary:
        write_tensors(temporary, model.state_dict())
    remove_older_snapshots(folder, update, keep)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file; InputError if it is missing or damaged.

    Files from elsewhere hold no hash of their tensors and are taken as they are.
    """
    try:
        with safe_open(path, framework="pt") as file:
            written = (file.metadata() or {}).get(_HASH)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (FileNotFoundError, SafetensorError) as error:
        raise InputError(f"{path}: no readable weights ({error}); {_MEND}") from None
    if written not in (None, _hash(tensors)):
        raise InputError(f"{path}: not the weights that were written; {_MEND}")
    for old, new in _RENAMED.items():
        tensors = {name.replace(old, new) if name.startswith(old) else name: one for name, one in tensors.items()}
    return tensors


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file with a hash of its tensors.

    Raises:
        OSError: the disk is full or the like, for which the library has an error of its own.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(plain, path, metadata={_HASH: _hash(plain)})
    except SafetensorError as error:
        if not (number := re.search(r"os error (\d+)", str(error))):
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None
    path.chmod(0o644)  # the library leaves it to its owner alone


def average(paths: list[Path]) -> dict[str, Tensor]:
    """Return the mean of the weights in several files (section 6.1), the newest last.

    Floating-point tensors are summed in fp64 and returned in fp32. Others cannot be averaged: those of the newest file
    are returned.

    Raises:
        InputError: a file is missing or damaged, or has other tensors than the first; the message names it.
    """
    weights = read_weights(paths[0])
    expected = _form(weights)
    total = {name: tensor.double() for name, tensor in weights.items()}
    for path in paths[1:]:
        weights = read_weights(path)
        if (form := _form(weights)) != expected:
            raise InputError(_difference(path, form, paths[0], expected))
        for name, tensor in weights.items():
            total[name] += tensor
    return {
        name: (total[name] / len(paths)).float() if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
    }


def _form(tensors: dict[str, Tensor]) -> dict[str, str]:
    return {name: f"{tensor.dtype} {list(tensor.shape)}" for name, tensor in tensors.items()}


def _difference(path: Path, form: dict[str, str], first: Path, expected: dict[str, str]) -> str:
    """The error line for weights of another form than those of the first file."""
    name = min(name for name in form.keys() | expected.keys() if form.get(name) != expected.get(name))
    has, wanted = (of.get(name, "missing") for of in (form, expected))
    return f"{path}: {name} is {has}, in {first} {wanted}; only weights of one training can be averaged"


def _hash(tensors: dict[str, Tensor]) -> str:
    """The SHA-256 of names, types, shapes and numbers."""
    digest = hashlib.sha256()
    digest.update(to_json(dict(sorted(_form(tensors).items()))).encode())
    for _, tensor in sorted(tensors.items()):
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": tensor for index, part in state.items() for name, tensor in part.items()}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, name = key.split(".")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
