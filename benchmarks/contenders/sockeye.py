"""Sockeye: its own batches, traced model and trainer."""

from pathlib import Path
from typing import Any

import sockeye
import sockeye.arguments
import sockeye.train
import sockeye.training
import torch

from benchmarks.contenders.job import Job, Stopwatch, device, measure

PAD = 0  # its own
VALID_PAIRS = 10
NEVER = 10**9


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    # It knows mixed precision on a GPU alone: where it would begin that, let it have what the job asks for.
    torch.cuda.amp.autocast = lambda cache_enabled: torch.autocast(  # type: ignore[assignment, misc]
        device(), torch.bfloat16, cache_enabled=cache_enabled
    )
    step = sockeye.training.EarlyStoppingTrainer._step

    def counted_step(trainer: Any, batch: Any) -> Any:
        done = step(trainer, batch)
        sides = (ids[:, :, 0] if ids.dim() == 3 else ids for ids in (batch.source, batch.labels["target_label"]))
        source, target = ((int((ids != PAD).sum()), ids.numel()) for ids in sides)
        watch.lap(source, target)
        return done

    sockeye.training.EarlyStoppingTrainer._step = counted_step
    parser = sockeye.arguments.ConfigArgumentParser()
    sockeye.arguments.add_train_cli_args(parser)
    sockeye.train.train(parser.parse_args([str(option) for option in options(job)]))


def options(job: Job) -> list[Any]:
    """The command line of sockeye-train."""
    files = job.write_text()
    valid = {side: Path(job.folder, f"valid.{side}") for side in ("source", "target")}
    for side, path in valid.items():
        path.write_text("".join(files[side].read_text().splitlines(keepends=True)[:VALID_PAIRS]), encoding="utf-8")
    return [
        "--source", files["source"], "--target", files["target"],
        "--validation-source", valid["source"], "--validation-target", valid["target"],
        "--output", Path(job.folder, "model"), "--shared-vocab", "--weight-tying-type", "src_trg_softmax",
        "--num-layers", job.layers, "--transformer-model-size", job.d_model, "--num-embed", job.d_model,
        "--transformer-feed-forward-num-hidden", job.d_ff, "--transformer-attention-heads", job.heads,
        "--transformer-dropout-prepost", job.dropout, "--transformer-dropout-attention", 0,
        "--transformer-dropout-act", 0, "--embed-dropout", 0, "--label-smoothing", job.label_smoothing,
        "--batch-type", "word", "--batch-size", job.tokens, "--optimizer", "adam", "--optimizer-betas", "0.9:0.98",
        "--initial-learning-rate", job.d_model**-0.5, "--learning-rate-scheduler-type", "inv-sqrt-decay",
        "--learning-rate-warmup", job.warmup, "--max-updates", NEVER, "--checkpoint-interval", NEVER,
        "--decode-and-evaluate", 0, "--seed", 1,
        *(["--amp"] if job.bf16 else []), *(["--use-cpu"] if device() == "cpu" else []),
    ]  # fmt: skip


if __name__ == "__main__":
    measure(train, f"sockeye {sockeye.__version__}")
