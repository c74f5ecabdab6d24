"""Kill a small training at random moments, start it again each time, and compare it with one that was left alone.

    python -m tests.kill_at_random --kills 200 --seed 7

Each training runs in a process group of its own, which gets SIGKILL from here after a time drawn from the seed: while
it starts, in an update, in a save, between epochs. One that reaches its end must hold what the uninterrupted one
holds, bit for bit; then the next begins, until there were as many kills as asked for, one of them or more in a save
(its temporary folder is still there) and one or more at the end of an epoch.
"""

import argparse
import multiprocessing
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # an optimiser loads it, which in each training would take a second

from tests.transformer.conftest import SMALL, VOCABULARY, backwards
from transformer.batches import plan_epoch
from transformer.checkpoint_files import checkpoints, snapshots
from transformer.errors import InputError
from transformer.files import read_json, sha256
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


@dataclass
class Outcome:
    """What was done to the trainings."""

    kills: int = 0
    in_a_save: int = 0
    at_the_end_of_an_epoch: int = 0
    trainings: int = 0
    different: list[str] = field(default_factory=list)  # what did not end as in the uninterrupted training


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


def look(folder: Path, batches: int, outcome: Outcome) -> None:
    """Note where a kill has hit."""
    outcome.kills += 1
    outcome.in_a_save += any(folder.glob(".checkpoint-*.tmp"))
    try:
        newest = read_json(checkpoints(folder)[-1] / "progress.json")
    except (IndexError, InputError):
        return
    outcome.at_the_end_of_an_epoch += newest["batch"] == batches


def kill_at_random(kills: int, seed: int, folder: Path) -> Outcome:
    """Kill trainings in `folder` at moments drawn from the seed until there were `kills` of them."""
    draw = random.Random(seed)
    pairs = backwards(40, seed=1)
    lengths = pairs.source_lengths + 1, pairs.target_lengths + 1
    batches = len(plan_epoch(*lengths, SETTINGS.tokens_per_update, SETTINGS.seed, 0))
    alone = folder / "alone"
    started = time.monotonic()
    live(alone, None)
    longest = LONGEST_LIFE * (time.monotonic() - started)
    outcome = Outcome()
    while outcome.kills < kills or not outcome.in_a_save or not outcome.at_the_end_of_an_epoch:
        outcome.trainings += 1
        killed = folder / f"killed-{outcome.trainings}"
        while not live(killed, draw.uniform(0.0, longest)):
            look(killed, batches, outcome)
        expected, found = result(alone), result(killed)
        outcome.different += [
            f"{killed}: {key}: {found.get(key)} instead of {expected.get(key)}"
            for key in expected | found
            if expected.get(key) != found.get(key)
        ]
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.kill_at_random", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="at least so many (default: %(default)s, some minutes)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of the moments; drawn if not given")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        outcome = kill_at_random(arguments.kills, arguments.seed, Path(folder))
    print(outcome)
    sys.exit(1 if outcome.different else 0)


if __name__ == "__main__":
    main()
