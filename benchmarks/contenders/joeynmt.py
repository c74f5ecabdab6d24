"""JoeyNMT: its own batches, model and trainer."""

import importlib.metadata
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch

from benchmarks.contenders.job import Job, Stopwatch, device, measure

sys.modules["importlib_metadata"] = importlib.metadata  # a copy of it, for older Pythons
sys.modules["torch.utils.tensorboard"] = MagicMock()  # needs a package of its own; nothing is written to it here

import joeynmt  # noqa: E402
import joeynmt.training  # noqa: E402

NEVER = 10**9


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    step = joeynmt.training.TrainManager._train_step
    before: list[tuple[tuple[int, int], tuple[int, int]]] = []

    def counted_step(trainer: Any, batch: Any) -> Any:
        if before:  # its update comes after the step: it is over when the next one begins
            watch.lap(*before.pop())
        before.append(((int(batch.src_mask.sum()), batch.src.numel()), (batch.ntokens, batch.trg.numel())))
        # Its own switch is for fp16, and not on a CPU.
        trainer.autocast = {"device_type": device(), "dtype": torch.bfloat16, "enabled": job.bf16}
        return step(trainer, batch)

    joeynmt.training.TrainManager._train_step = counted_step
    joeynmt.training.train(rank=0, world_size=None, cfg=configuration(job), skip_test=True)


def configuration(job: Job) -> dict[str, Any]:
    """What stands in its YAML file."""
    files, folder = job.write_text(), Path(job.folder, "model")
    folder.mkdir()
    layers = {
        "type": "transformer", "num_layers": job.layers, "num_heads": job.heads, "hidden_size": job.d_model,
        "ff_size": job.d_ff, "dropout": job.dropout, "embeddings": {"embedding_dim": job.d_model, "scale": True},
        "layer_norm": "post",
    }  # fmt: skip
    side = {"level": "word", "lowercase": False, "max_length": 1000, "voc_file": str(files["words"])}
    return {
        "name": "benchmark",
        "model_dir": str(folder),
        "use_cuda": device() == "cuda",
        "data": {
            "train": str(files["source"].with_suffix("")),
            "dev": str(files["source"].with_suffix("")),
            "sample_dev_subset": 10,
            "src": {"lang": "source", **side},
            "trg": {"lang": "target", **side},
        },
        "model": {
            "encoder": layers, "decoder": layers, "tied_embeddings": True, "tied_softmax": True,
        },
        "training": {
            "batch_type": "token", "batch_size": job.tokens, "normalization": "tokens", "optimizer": "adam",
            "adam_betas": [0.9, 0.98], "scheduling": "noam", "learning_rate_warmup": job.warmup,
            "label_smoothing": job.label_smoothing, "epochs": NEVER, "updates": NEVER, "validation_freq": NEVER,
            "logging_freq": NEVER,
        },
        "testing": {},
    }  # fmt: skip


if __name__ == "__main__":
    measure(train, f"JoeyNMT {joeynmt.__version__}")
