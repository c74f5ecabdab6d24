"""A training does not depend on how its batches are divided: on 1, 2 or 4 ranks the weights are those of one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer.checkpoints import read_weights

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
UPDATES = 20

# Trains with and without dropout, and notes how each rank's work was divided.
JOB = """
import json, sys
from pathlib import Path
import torch
import torch.distributed as dist
import transformer.trainer as library
from tests.transformer.conftest import SMALL, VOCABULARY, backwards
from transformer.settings import TrainingSettings

def train(tokens_per_device, dropout, folder):
    settings = TrainingSettings(
        updates=20, tokens_per_update=200, tokens_per_device=tokens_per_device, warmup=100, learning_rate_factor=1.0,
        beta2=0.98, lengths_per_update=1, label_smoothing=0.1, precision="fp32", compile=False,
        snapshot_every=20, keep_snapshots=1, validate_every=20, seed=1)
    model = SMALL.model_copy(update={"dropout": dropout})
    trainer = library.Trainer(model, settings, VOCABULARY, backwards(200, seed=1), backwards(100, seed=2), folder)
    parts, order, collate, step = [], [], library.collate, trainer.step
    library.collate = lambda pairs, indices: parts.append(pairs is trainer.valid_pairs) or collate(pairs, indices)
    trainer.step = lambda update, indices, *made: order.append(sorted(indices.tolist())) or step(update, indices, *made)
    progress = trainer.run()
    library.collate = collate
    facts = {"train": parts.count(False), "valid": parts.count(True), "order": order, "curve": progress["curve"]}
    (folder / f"rank-{trainer.rank}.json").write_text(json.dumps(facts))

torch.set_num_threads(1)
dist.init_process_group("gloo")
for name, tokens_per_device in (("parts", 75), ("whole", 1000)):
    for dropout in (0.0, 0.1):
        if name == "parts" or dist.get_world_size() == 1:
            train(tokens_per_device, dropout, Path(sys.argv[1]) / f"{name}-{dropout}")
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real processes: quarters of batches on 1, 2 and 4 ranks, and on one rank whole batches as well."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "job.py").write_text(JOB)

    def start(ranks: int) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", str(folder / "job.py"),
             str(folder / str(ranks))],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    for job in [start(ranks) for ranks in (1, 2, 4)]:
        errors = job.communicate(timeout=240)[1]
        assert job.returncode == 0, errors
    return folder


def facts(run: Path, ranks: int) -> list[dict[str, Any]]:
    return [json.loads((run / f"rank-{rank}.json").read_text()) for rank in range(ranks)]


def assert_same_weights(run: Path, other: Path) -> None:
    name = f"snapshot-{UPDATES:08d}.safetensors"
    expected = read_weights(other / name)
    for key, tensor in read_weights(run / name).items():
        torch.testing.assert_close(tensor, expected[key], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_quarters_of_a_batch_are_divided_over_the_ranks(runs: Path, ranks: int) -> None:
    assert [rank["train"] for rank in facts(runs / f"{ranks}/parts-0.0", ranks)] == [UPDATES * 4 // ranks] * ranks
    assert facts(runs / "1/whole-0.0", 1)[0]["train"] == UPDATES


@pytest.mark.fault("F24")
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_without_dropout_the_weights_are_those_of_whole_batches(runs: Path, ranks: int) -> None:
    assert_same_weights(runs / f"{ranks}/parts-0.0", runs / "1/whole-0.0")


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_same_parts_have_the_same_dropout_on_any_number_of_ranks(runs: Path, ranks: int) -> None:
    assert_same_weights(runs / f"{ranks}/parts-0.1", runs / "1/parts-0.1")


@pytest.mark.fault("F17")
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_order_of_the_data_depends_on_no_division(runs: Path, ranks: int) -> None:
    expected = facts(runs / "1/whole-0.1", 1)[0]["order"]
    assert len(expected) == UPDATES
    assert all(rank["order"] == expected for rank in facts(runs / f"{ranks}/parts-0.1", ranks))


@pytest.mark.fault("F26")
@pytest.mark.parametrize("ranks", [2, 4])
def test_no_rank_validates_while_others_wait(runs: Path, ranks: int) -> None:
    alone = facts(runs / "1/parts-0.0", 1)[0]
    shared = facts(runs / f"{ranks}/parts-0.0", ranks)
    counts = [rank["valid"] for rank in shared]
    assert sum(counts) == alone["valid"] > ranks
    assert max(counts) - min(counts) <= 1
    for rank in shared:
        assert rank["curve"][-1]["valid_nll"] == pytest.approx(alone["curve"][-1]["valid_nll"], rel=1e-4)
