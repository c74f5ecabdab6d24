"""This project's own training: transformer.trainer.Trainer, whose steps are counted from outside as those of others."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchmarks.contenders.job import Finished, Job, Stopwatch, measure, peak_bytes, read_job, tell
from tasks.common.settings import read_experiment
from transformer.io.shards import Pairs
from transformer.settings import ModelSettings, TrainingSettings
from transformer.telemetry.meter import TOTALS
from transformer.trainer import Trainer

NEVER = 10**9


def settings(job: Job) -> tuple[ModelSettings, TrainingSettings]:
    """Those of the nearest experiment in params.yaml, with the job's sizes: what it does not name stays as it ships."""
    nearest = "multi30k" if job.d_model < 512 else "base" if job.d_model < 1024 else "big"
    experiment = read_experiment(nearest, "model", "training")
    d_k = job.d_model // job.heads
    model = experiment.model.model_copy(
        update={
            "layers": job.layers, "d_model": job.d_model, "d_ff": job.d_ff, "heads": job.heads, "d_k": d_k, "d_v": d_k,
            "dropout": job.dropout,
        }
    )  # fmt: skip
    training = experiment.training.model_copy(
        update={
            "updates": NEVER, "tokens_per_update": job.tokens,
            "warmup": job.warmup, "label_smoothing": job.label_smoothing, "precision": job.precision,
            "snapshot_every": NEVER, "validate_every": NEVER,
        }
    )  # fmt: skip
    return model, training


def read_pairs(job: Job) -> Pairs:
    """The token streams as the trainer takes them."""
    with np.load(job.streams) as streams:
        arrays = dict(streams)
    arrays |= {f"{side}_lengths": np.diff(arrays[f"{side}_offsets"]) for side in ("source", "target")}
    return Pairs(**{field.name: arrays[field.name] for field in fields(Pairs)})


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough; that of rank 0 decides."""
    pairs = read_pairs(job)
    trainer = Trainer(*settings(job), job.vocabulary, pairs, pairs, Path(job.folder))
    step = trainer.step

    def counted_step(*arguments: Any) -> None:
        before = dict(trainer.progress)
        step(*arguments)
        new = {name: trainer.progress[name] - before[name] for name in TOTALS}
        with together(job.ranks):
            watch.lap(tokens_and_positions(new, "source"), tokens_and_positions(new, "target"))

    trainer.step = counted_step  # type: ignore[assignment, method-assign]
    trainer.run()


def tokens_and_positions(new: dict[str, Any], side: str) -> tuple[int, int]:
    """Of all ranks in one step; padding is counted for this rank's part, and that of the others is like it."""
    positions, padding, tokens = (new[f"{side}_{name}"] for name in ("positions", "padding", "tokens"))
    return tokens, round(tokens * positions / (positions - padding))


@contextmanager
def together(ranks: int) -> Iterator[None]:
    """Let all ranks finish after the same step."""
    if ranks == 1:
        yield
        return
    over = torch.zeros(1)
    try:
        yield
    except Finished:
        over += 1
    dist.broadcast(over, 0)
    if over.item():
        raise Finished


def main() -> None:
    """Measure as the job says; started by torchrun where it has several ranks."""
    job = read_job()
    name = f"ours, {settings(job)[1].precision}"
    if job.ranks == 1:
        return measure(train, name)
    dist.init_process_group("gloo")
    watch = Stopwatch(job.seconds)
    with suppress(Finished):
        train(job, watch)
    peaks = torch.tensor(float(peak_bytes()), dtype=torch.float64)
    dist.all_reduce(peaks)
    if dist.get_rank() == 0:
        tell(f"{name}, {job.ranks} ranks", watch, peaks.item())
    dist.destroy_process_group()
    return None


if __name__ == "__main__":
    main()
