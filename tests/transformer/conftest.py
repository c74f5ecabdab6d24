"""A small task that a model can learn in seconds: repeat the source backwards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.random_model import write_folder
from tests.workspace import PAPER
from transformer.io.shards import Pairs
from transformer.settings import ModelSettings, TrainingSettings
from transformer.trainer import Trainer

VOCABULARY = 12
SMALL = ModelSettings(layers=1, d_model=32, d_ff=64, heads=2, d_k=16, d_v=16, dropout=0.1, **PAPER)


def backwards(count: int, seed: int) -> Pairs:
    random = np.random.default_rng(seed)
    sources = [random.integers(4, VOCABULARY, random.integers(1, 7)).tolist() for _ in range(count)]
    return Pairs.of(sources, [source[::-1] for source in sources])


def stop_after(trainer: Trainer, update: int) -> None:
    """As if it were asked to end while it reports that update."""

    def report(reported: int, metrics: dict[str, float]) -> None:
        trainer.stop = reported == update

    trainer.report = report


@pytest.fixture
def make_trainer(tmp_path: Path) -> Callable[..., Trainer]:
    def make(folder: str = "state", model: ModelSettings = SMALL, pairs: int = 40, **changes: Any) -> Trainer:
        values: dict[str, Any] = {
            "updates": 12, "tokens_per_update": 60, "tokens_per_device": 60, "warmup": 100, "learning_rate_factor": 1.0,
            "beta2": 0.98, "lengths_per_update": 1, "label_smoothing": 0.1, "precision": "fp32", "compile": False,
            "snapshot_every": 3, "keep_snapshots": 2, "validate_every": 100, "seed": 1,
        }  # fmt: skip
        settings = TrainingSettings(**{**values, **changes})
        return Trainer(model, settings, VOCABULARY, backwards(pairs, seed=1), backwards(10, seed=2), tmp_path / folder)

    return make


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with random weights."""
    return write_folder(
        tmp_path_factory.mktemp("models") / "random", seed=1, noise=0.0, layers=1, d_model=16, d_ff=16, heads=2
    )
