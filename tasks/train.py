"""Train one experiment; continues from its newest checkpoint.

    torchrun -m tasks.train tiny            # PET_NPROC_PER_NODE=8, PET_NNODES=2, ... for more devices and machines
    python -m tasks.train --check tiny      # only whether it could start; unpacks the shards

    params.yaml  data/shards/C/  data/subwords/C/subwords.model
      -> data/unpacked/C/                                         the shards as arrays that all ranks map
      -> runs/E/weights/snapshot-*.safetensors  training.json     the last weights, and what was done to get them
         runs/E/progress.json                                     where it stands, every few seconds
         runs/E/tracking.jsonl                                    what MLflow is told, and what of it has been delivered
         runs/E/state/                                            to resume; may be deleted once weights/ is there

data/unpacked/C is no output to DVC: it is made again whenever it is missing or not of these shards, so there is nothing
to keep, and hashing and caching it would take as much disk again. `--check` makes it before torchrun starts its ranks.

A training whose settings or data changed starts anew; the state of the old one moves to runs/E/old-HASH. A checkpoint
that someone else put into runs/E/state is refused if it was made from anything else.

Where a rank fails, its error is the first thing said, and torchrun ends the others. Started with --max-restarts N it
starts all of them again, from the newest checkpoint, up to N times; not after SIGTERM or Ctrl-C, which it passes on to
the ranks and which saves.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import Timeout

from tasks.common.paths import RUNS, SHARDS, SUBWORDS, UNPACKED
from tasks.common.settings import read_experiment
from transformer.io.checkpoint_files import checkpoints, damage, set_aside_damaged, snapshots, update_of
from transformer.io.errors import InputError, run_main
from transformer.io.files import locked, move_aside, read_json, sha256, whole_folder, write_json
from transformer.io.ranks import read_place
from transformer.io.shards import Pairs, read_split, unpack
from transformer.text.subwords import Subwords

if TYPE_CHECKING:  # checking needs no torch, and is quick without it
    from transformer.trainer import Trainer

SECONDS_TO_WAIT = 60.0
# The other ranks wait for rank 0 while it saves: 2.6 GB for the big model, hashed and flushed, in seconds to a minute.
LONGEST_WAIT = timedelta(minutes=30)
SECTIONS = ("corpus", "preset", "changes", "model", "training")


def main() -> None:
    """Check the inputs, or train on them."""
    parser = argparse.ArgumentParser(
        prog="torchrun -m tasks.train",
        description="Train one experiment of params.yaml; continues from its newest checkpoint.",
        epilog="example: torchrun -m tasks.train tiny",
    )
    parser.add_argument("experiment", help="a key of `experiments` in params.yaml")
    parser.add_argument(
        "--check", action="store_true", help="only check settings and data (and unpack the data): exit 0, or 2 and why"
    )
    arguments = parser.parse_args()
    settings = read_experiment(arguments.experiment, *SECTIONS)
    folder = RUNS / arguments.experiment
    inputs = read_inputs(settings.corpus)
    if settings.training.bpe_dropout and inputs.subwords.kind != "bpe":
        raise InputError(
            f"experiments.{arguments.experiment}: bpe_dropout needs sub-words of kind bpe, and corpus "
            f"{settings.corpus} has {inputs.subwords.kind}: set it to 0"
        )
    if arguments.check:
        with only_one(folder):
            wanted = fingerprint(settings, inputs)
            refuse_foreign(folder, wanted)
            if is_continued(folder / "state", wanted):
                set_aside_damaged(folder / "state")
            return
    train(arguments.experiment, settings, inputs, folder)


@dataclass(frozen=True)
class Inputs:
    """The data of a training and the hashes by which a changed one is noticed."""

    train: Pairs
    valid: Pairs
    subwords: Subwords
    languages: dict[str, str]
    hashes: dict[str, str]


def read_inputs(corpus: str) -> Inputs:
    """Shards, unpacked, and sub-word model of a corpus.

    InputError if one is missing, damaged or does not fit the other.
    """
    shards = SHARDS / corpus
    manifest = read_json(shards / "manifest.json")
    subwords = Subwords(SUBWORDS / corpus / "subwords.model")
    if manifest["subwords_sha256"] != subwords.sha256:
        raise InputError(f"{shards}: written with another sub-word model; run stage shards@{corpus} again")
    hashes = {"subwords": subwords.sha256, "shards": sha256(shards / "manifest.json")}
    unpacked = UNPACKED / corpus
    unpack(shards, unpacked)
    train, valid = read_split(unpacked / "train"), read_split(unpacked / "valid")
    return Inputs(train, valid, subwords, manifest["languages"], hashes)


def left_out(corpus: str) -> dict[str, dict[str, int]]:
    """The pairs of each split that the shards lack, by reason; the reports say so beside the scores."""
    splits = read_json(SHARDS / corpus / "manifest.json")["splits"]
    return {split: facts["dropped"] for split, facts in splits.items() if facts["dropped"]}


def only_one(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a run; InputError if another process still trains it after a minute.

    That long, because the ranks of a training that was killed save before they leave.
    """
    try:
        waiting = f"{folder}: waiting for the process that trains it"
        return locked(folder / "training.lock", waiting, SECONDS_TO_WAIT)
    except Timeout:
        raise InputError(f"{folder}: another process is training it; wait for it or stop it") from None


def train(experiment: str, settings: Any, inputs: Inputs, folder: Path) -> None:
    """Train on this rank; rank 0 also keeps the lock, the MLflow run and the files.

    InputError if another process trains the experiment; SystemExit if asked to stop; FloatingPointError if the loss
    is no longer finite.
    """
    parent = os.getppid()  # before anything that takes time, in which torchrun may be killed
    # OpenMP's threads wait for each other by spinning. Where anything else runs on their cores that costs most of the
    # speed; waiting shorter costs nothing (two trainings at once on two cores: 2,280 tokens/s each, with this 5,500).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import torch.distributed as dist

    from tasks.common.machine import commit, measured
    from transformer.trainer import Trainer, stop_when_asked

    ranks, rank, *_ = read_place()
    if ranks > 1:
        join_ranks(ranks)
    made_from = fingerprint(settings, inputs)
    with only_one(folder) if rank == 0 else nullcontext():
        if rank == 0:
            refuse_foreign(folder, made_from)
            set_aside_other(folder, made_from)
        if ranks > 1:
            wait_for_rank_0(rank)
        state = folder / "state"
        data = inputs.subwords.size, inputs.train, inputs.valid
        made_by = {"commit": commit(), "machine": measured(ranks, state / "machine.json")} if rank == 0 else None
        trainer = Trainer(settings.model, settings.training, *data, state, made_by, made_from, inputs.subwords)
        stop_when_asked(trainer, parent)
        if rank == 0:
            _lead(experiment, settings, inputs, folder, trainer)
        else:
            trainer.run()
    if ranks > 1:  # where one failed it does not wait for the others, but says why and is gone
        dist.destroy_process_group()


def join_ranks(ranks: int) -> None:
    """Form the process group of all ranks, as torchrun's environment variables say.

    On one machine torchrun keeps the store in which ranks leave their addresses from one start to the next (see
    https://github.com/pytorch/pytorch/issues/135712). A rank that finds an old address there fails, or waits for the
    dead: so each start has keys of its own. The c10d rendezvous of several machines makes a new store each time.
    """
    import torch
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    if torch.cuda.is_available():
        torch.cuda.set_device(read_place().local_rank)
    store, rank, _ = next(rendezvous("env://", timeout=LONGEST_WAIT))
    if read_place().local_ranks == ranks:
        store = dist.PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)  # type: ignore[attr-defined]
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=LONGEST_WAIT)


def wait_for_rank_0(rank: int) -> None:
    """All ranks read what it has left in place. Where it has failed, torchrun ends the others, and it alone speaks."""
    import torch.distributed as dist

    from transformer.trainer import SECONDS_TO_BE_ENDED

    try:
        dist.barrier()
    except RuntimeError:
        if rank:
            time.sleep(SECONDS_TO_BE_ENDED)
        raise


def fingerprint(settings: Any, inputs: Inputs) -> dict[str, Any]:
    """All that the result of a training depends on."""
    training = settings.training.model_dump(exclude={"tokens_per_device", "validate_every"})
    if not training["bpe_dropout"]:
        del training["bpe_dropout"]  # a setting that trainings from before it have not
    return {"model": settings.model.model_dump(), "training": training, **inputs.hashes}


def refuse_foreign(folder: Path, wanted: dict[str, Any]) -> None:
    """InputError if the state says it has these settings and data, but holds a checkpoint made from others.

    Only a hand can have put it there, and nothing here can tell which of the two was meant.
    """
    state = folder / "state"
    if not is_continued(state, wanted):
        return  # all of it will be set aside
    for checkpoint in checkpoints(state):
        there = _record(checkpoint / "settings.json")
        if there and there != wanted and not damage(checkpoint):
            different = _differences(there, wanted)
            values = ", ".join(f"{key} {old}, now {new}" for key, (old, new) in different.items())
            raise InputError(f"{checkpoint}: made from other settings or data ({values}); move it out of this folder")


def set_aside_other(folder: Path, wanted: dict[str, Any]) -> None:
    """Make room for a training with the settings and data `wanted`.

    The state of another one moves to `old-HASH`, and what differs is said; one with these settings comes back from
    there.
    """
    state, record = folder / "state", folder / "state" / "settings.json"
    there = _record(record)
    if state.exists() and not is_continued(state, wanted):
        old = move_aside(state, _old(folder, there).name)  # the states of unknown settings all have one name
        changed = f"{', '.join(_differences(there, wanted))} changed" if there else f"{record} is missing or damaged"
        print(f"{folder}: {changed}; the state of the other training is in {old}", file=sys.stderr, flush=True)
    if not state.exists() and (before := _old(folder, wanted)).exists():
        before.rename(state)
    if there != wanted:
        write_json(record, wanted)


def is_continued(state: Path, wanted: dict[str, Any]) -> bool:
    """Whether a state is that of the training `wanted`: its record says so or, where that is damaged, a checkpoint."""
    return any(_record(folder / "settings.json") == wanted for folder in [state, *checkpoints(state)])


def _record(path: Path) -> dict[str, Any] | None:
    """The settings in a file; None if it is missing or damaged."""
    try:
        there = read_json(path)
    except InputError:
        return None
    return there if isinstance(there, dict) else None


def _old(folder: Path, settings: dict[str, Any] | None) -> Path:
    return folder / f"old-{hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:8]}"


def _differences(there: dict[str, Any], wanted: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """{"training.warmup": (old, new)} for each value that is not the same."""
    found: dict[str, tuple[Any, Any]] = {}
    for key in sorted(there.keys() | wanted.keys()):
        old, new = there.get(key), wanted.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found |= {f"{key}.{name}": pair for name, pair in _differences(old, new).items()}
        elif old != new:
            found[key] = old, new
    return found


def _lead(experiment: str, settings: Any, inputs: Inputs, folder: Path, trainer: Trainer) -> None:
    """Rank 0: train, tell MLflow, and write the weights folder when the last update is done."""
    from tasks.common.progress_file import tell
    from tasks.tracking.run import tracked
    from transformer.checkpoints import read_weights
    from transformer.model import count_parameters

    record = folder / "state" / "mlflow.json"
    with tracked(experiment, read_json(record)["run_id"] if record.exists() else None) as run:
        write_json(record, {"run_id": run.key})
        facts = {
            "experiment": experiment,
            "corpus": settings.corpus,
            "languages": inputs.languages,
            "preset": settings.preset,
            "changes": settings.changes,
            "model": settings.model.model_dump(),
            "training": settings.training.model_dump(),
            "products_in": trainer.precision,
            "vocabulary": inputs.subwords.size,
            "parameters": count_parameters(trainer.model),
            "longest_source": int(inputs.train.source_lengths.max()),
            "left_out": left_out(settings.corpus),
            "hashes": inputs.hashes,
        }
        run.parameters(facts)
        made_by = trainer.made_by
        tags = {"commit": made_by["commit"], "device": made_by["machine"]["device"]}
        seed = str(settings.training.seed)
        run.tags({"corpus": settings.corpus, "preset": settings.preset, "seed": seed, **tags})
        trainer.report = run.metrics
        trainer.tell = lambda status: tell({"experiment": experiment, **status}, folder / "progress.json")
        progress = trainer.run()
        run.flush()  # which also makes the run, and so its id known, unless MLflow is away
        with whole_folder(folder / "weights") as temporary:
            written = [path for path in snapshots(folder / "state") if trainer.is_snapshot(update_of(path))]
            for snapshot in written[-settings.training.keep_snapshots :]:
                read_weights(snapshot)  # what was damaged since it was written is named here
                shutil.copyfile(snapshot, temporary / snapshot.name)
            write_json(temporary / "training.json", {**facts, **progress, "mlflow_run": run.run_id})
        run.artifact(folder / "weights" / "training.json")


if __name__ == "__main__":
    run_main(main)
