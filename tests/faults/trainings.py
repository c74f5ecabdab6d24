"""Kill a small training at random moments, start it again each time, and compare it with one that was left alone.

Each training runs in a process group of its own, which gets SIGKILL from here after a time drawn from the seed: while
it starts, in an update, in a save, between epochs. One that reaches its end must hold what the uninterrupted one
holds, bit for bit; then the next begins, until there were as many kills as asked for, one of them or more in a save
(its temporary folder is still there) and one or more at the end of an epoch.
"""

import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # an optimiser loads it, which in each training would take a second

from tests.faults.part import Part
from tests.transformer.conftest import SMALL, VOCABULARY, backwards
from transformer.batches import plan_epoch
from transformer.io.checkpoint_files import checkpoints, snapshots
from transformer.io.errors import InputError
from transformer.io.files import read_json, sha256
from transformer.settings import TrainingSettings
from transformer.trainer import Trainer

UPDATES = 60
LONGEST_LIFE = 1 / 6  # of the time of an uninterrupted training; a start takes a small part of it
SETTINGS = TrainingSettings(
    updates=UPDATES, tokens_per_update=60, tokens_per_device=40, warmup=100, learning_rate_factor=1.0, beta2=0.98,
    lengths_per_update=1, label_smoothing=0.1, precision="fp32", compile=False, snapshot_every=10, keep_snapshots=3,
    validate_every=25, seed=1,
)  # fmt: skip
COUNTED = ("update", "epoch", "batch", "flops", "source_tokens", "target_tokens")  # all of its progress but times
# A Python that starts with torch takes seconds. Here each training is forked from this process, which has loaded it
# and computes nothing itself.
PROCESSES = multiprocessing.get_context("fork")


def train(folder: Path) -> None:
    """The training, which saves after about every second update."""
    os.setpgid(0, 0)
    torch.set_num_threads(1)
    trainer = Trainer(SMALL, SETTINGS, VOCABULARY, backwards(40, seed=1), backwards(10, seed=2), folder)
    trainer.seconds_between_checkpoints = 0.01
    sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    trainer.run()


def live(folder: Path, seconds: float | None) -> bool:
    """Start the training and kill it after so many seconds; whether it had come to its end by then."""
    process = PROCESSES.Process(target=train, args=[folder])
    process.start()
    process.join(seconds)
    if process.exitcode is None:
        assert process.pid
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it had no time to make a group
            process.kill()
        process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the training in {folder} ended with exit code {process.exitcode}")
    return process.exitcode == 0


def result(folder: Path) -> dict[str, Any]:
    """All that a finished training leaves: hashes of its files, and what it counted."""
    newest = checkpoints(folder)[-1]
    files = [newest / "weights.safetensors", newest / "optimizer.safetensors", *snapshots(folder)]
    hashes = {str(path.relative_to(folder)): sha256(path) for path in files}
    progress = read_json(newest / "progress.json")
    unfinished = sorted(path.name for path in folder.glob(".*"))
    return {
        **hashes,
        **{key: progress[key] for key in COUNTED},
        "checkpoints": len(checkpoints(folder)),
        "unfinished": unfinished,
    }


def look(folder: Path, batches: int, part: Part) -> None:
    """Note where a kill has hit."""
    part.count("kills")
    part.facts["in a save"] += any(folder.glob(".checkpoint-*.tmp"))
    try:
        newest = read_json(checkpoints(folder)[-1] / "progress.json")
    except (IndexError, InputError):
        return
    part.facts["at the end of an epoch"] += newest["batch"] == batches


def trainings(folder: Path, kills: int, seed: int) -> Part:
    """Kill trainings in `folder` at moments drawn from the seed until there were `kills` of them."""
    (folder / "trainings.json").unlink(missing_ok=True)  # which takes minutes: begun anew each time
    part = Part.read(folder, "trainings", "Kills of a single training")
    part.done = (
        f"A training of {UPDATES} updates that saves after about every second one is killed (SIGKILL) at moments drawn "
        "from a sixth of its time, and started again. At its end it must hold what one holds that was left alone: "
        "weights, moments, snapshots, what was counted, to the bit."
    )
    part.facts = {"kills": 0, "in a save": 0, "at the end of an epoch": 0}
    draw = random.Random(seed)
    pairs = backwards(40, seed=1)
    lengths = pairs.source_lengths + 1, pairs.target_lengths + 1
    batches = len(plan_epoch(*lengths, SETTINGS.tokens_per_update, SETTINGS.seed, 0))
    place = folder / "trainings"
    shutil.rmtree(place, ignore_errors=True)
    started = time.monotonic()
    live(place / "alone", None)
    longest = LONGEST_LIFE * (time.monotonic() - started)
    while part.facts["kills"] < kills or not part.facts["in a save"] or not part.facts["at the end of an epoch"]:
        part.count("trainings")
        killed = place / f"killed-{part.facts['trainings']}"
        while not live(killed, draw.uniform(0.0, longest)):
            look(killed, batches, part)
        expected, found = result(place / "alone"), result(killed)
        part.faults += [
            f"{killed.name}: {key}: {found.get(key)} instead of {expected.get(key)}"
            for key in expected | found
            if expected.get(key) != found.get(key)
        ]
        part.write(folder)
    part.complete = True
    part.write(folder)
    return part
