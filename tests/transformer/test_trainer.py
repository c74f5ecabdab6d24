"""Training: a function of settings, data and seed, also when it is stopped, damaged or divided."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.transformer.conftest import SMALL, stop_after
from transformer.batches import divide
from transformer.checkpoints import average, read_weights
from transformer.io.checkpoint_files import checkpoints, snapshots
from transformer.io.errors import InputError
from transformer.schedule import learning_rate
from transformer.search import beam_search
from transformer.settings import SearchSettings
from transformer.trainer import Stopped, Trainer

Make = Callable[..., Trainer]


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


@pytest.mark.fault("F19")
@pytest.mark.parametrize(("update", "rate"), [(1, 1.7469e-07), (4000, 6.98771e-04), (8000, 4.94106e-04)])
def test_learning_rate_is_the_papers(update: int, rate: float) -> None:
    assert learning_rate(update, 512, 4000) == pytest.approx(rate, rel=3e-5)


def test_it_learns_to_say_a_sentence_backwards(make_trainer: Make) -> None:
    trainer = make_trainer(pairs=3000, updates=900, tokens_per_update=300, tokens_per_device=300)
    trainer.run()
    trainer.model.eval()
    search = SearchSettings(beam=4, penalty="paper", length_penalty=0.6, extra_length=5)
    sources = [[4, 5, 6, 7], [11, 4], [8, 9, 10]]
    found = beam_search(trainer.model, sources, search, n=1)
    assert [best.ids for (best,) in found] == [source[::-1] for source in sources]


def test_stopped_and_continued_ends_with_the_same_weights(make_trainer: Make) -> None:
    through = make_trainer("through")
    through.run()

    first = make_trainer("stopped")
    stop_after(first, 5)
    with pytest.raises(Stopped):
        first.run()
    second = make_trainer("stopped")
    progress = second.run()

    assert progress["update"] == 12
    assert_same(weights(second), weights(through))
    assert [path.name for path in snapshots(second.folder)] == [path.name for path in snapshots(through.folder)]


def test_a_finished_training_is_not_trained_again(make_trainer: Make) -> None:
    make_trainer().run()
    again = make_trainer()
    again.step = None  # type: ignore[assignment]  # would fail if it were called
    assert again.run()["update"] == 12


@pytest.mark.parametrize("damage", ["torn", "bit", "missing"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(
    make_trainer: Make, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = make_trainer()
    trainer.seconds_between_checkpoints = -1.0  # after every update
    trainer.run()
    newest = checkpoints(trainer.folder)[-1] / "weights.safetensors"
    content = newest.read_bytes()
    if damage == "torn":
        newest.write_bytes(content[: len(content) // 2])
    elif damage == "bit":
        newest.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    else:
        newest.unlink()

    again = make_trainer()
    again.run()
    assert str(newest.parent) in capsys.readouterr().err
    assert_same(weights(again), weights(trainer))


@pytest.mark.fault("F25")
def test_checkpoints_hold_no_pickle(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.run()
    assert {path.suffix for path in trainer.folder.rglob("*") if path.is_file()} == {".safetensors", ".json"}


def test_only_the_newest_snapshots_stay_and_average_is_their_mean(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.run()
    paths = snapshots(trainer.folder)
    assert [path.name for path in paths] == ["snapshot-00000009.safetensors", "snapshot-00000012.safetensors"]
    mean = average(paths)
    for name, tensor in mean.items():
        torch.testing.assert_close(tensor, (read_weights(paths[0])[name] + read_weights(paths[1])[name]) / 2)


@pytest.mark.fault("F23")
def test_the_shared_embedding_is_one_tensor_in_model_and_file(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.run()
    names = [name for name in read_weights(snapshots(trainer.folder)[-1]) if "embedding" in name]
    assert names == ["embedding"]
    before = trainer.model.embedding
    trainer.model.load_state_dict(read_weights(snapshots(trainer.folder)[-1]))
    assert trainer.model.embedding is before


def test_missing_weights_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="snapshot-1"):
        read_weights(tmp_path / "snapshot-1.safetensors")


def test_accumulation_gives_the_weights_of_whole_batches(make_trainer: Make) -> None:
    model = SMALL.model_copy(update={"dropout": 0.0})
    whole = make_trainer("whole", model)
    parts = make_trainer("parts", model, tokens_per_device=15)
    first = next(parts._batches())[1]
    assert len(divide(first, *parts.train_lengths, 1, 15)) >= 4
    parts.progress |= {"update": 0, "batch": 0}
    whole.run()
    parts.run()
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(weights(parts)[name], tensor, atol=1e-5, rtol=1e-4)


@pytest.mark.fault("F21")
def test_a_loss_that_is_not_finite_ends_the_training_and_names_the_update(make_trainer: Make) -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.model.embedding.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="update 1"):
        trainer.run()


@pytest.mark.fault("F21")
def test_what_is_not_finite_overwrites_no_checkpoint(make_trainer: Make) -> None:
    trainer = make_trainer()

    def break_it(update: int, metrics: dict[str, float]) -> None:
        if update == 7:
            with torch.no_grad():
                trainer.model.embedding.fill_(float("inf"))

    trainer.report = break_it
    with pytest.raises(FloatingPointError):
        trainer.run()
    again = make_trainer()
    again.run()
    assert all(tensor.isfinite().all() for tensor in weights(again).values())


def test_perplexity_before_training_is_about_the_vocabulary(make_trainer: Make) -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.model.embedding.zero_()
    assert np.exp(trainer.validate()) == pytest.approx(12)


SCRIPT = """
import sys, torch, torch.distributed as dist
from pathlib import Path
from tests.transformer.conftest import SMALL, VOCABULARY, backwards
from transformer.settings import TrainingSettings
from transformer.trainer import Trainer
torch.set_num_threads(1)
dist.init_process_group("gloo")
settings = TrainingSettings(
    updates=int(sys.argv[2]), tokens_per_update=60, tokens_per_device=60 // int(sys.argv[3]), warmup=100,
    learning_rate_factor=1.0, beta2=0.98, lengths_per_update=1, label_smoothing=0.1, precision="fp32", compile=False,
    snapshot_every=12, keep_snapshots=1, validate_every=12, seed=1)
model = SMALL.model_copy(update={"dropout": 0.0})
valid = backwards(2, seed=2)  # one batch: less than there are ranks
trainer = Trainer(model, settings, VOCABULARY, backwards(41, seed=1), valid, Path(sys.argv[1]))
trainer.model.positions = trainer.model.positions[:4]  # grows on one rank before it does on the other
trainer.seconds_between_checkpoints = -1.0
trainer.run()
dist.destroy_process_group()
"""


@pytest.mark.fault("F16")
@pytest.mark.fault("F24")
@pytest.mark.fault("F34")
def test_two_ranks_and_a_change_of_ranks_give_the_weights_of_one(tmp_path: Path) -> None:
    """Three jobs side by side on one machine: one rank, two ranks, and two ranks continued by one."""
    root = Path(__file__).parents[2]
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run"]

    def start(name: str, ranks: int, updates: int = 12) -> subprocess.Popen[bytes]:
        arguments = [f"--nproc-per-node={ranks}", str(script), str(tmp_path / name), str(updates), str(ranks)]
        environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([*command, *arguments], cwd=root, env=environment, stderr=subprocess.PIPE)

    def finish(job: subprocess.Popen[bytes]) -> None:
        _, errors = job.communicate(timeout=240)
        assert job.returncode == 0, errors.decode()

    jobs = [start("one", 1), start("two", 2), start("changed", 2, updates=5)]
    for job in jobs:
        finish(job)
    finish(start("changed", 1))

    expected = read_weights(tmp_path / "one" / "snapshot-00000012.safetensors")
    for name in ("two", "changed"):
        found = read_weights(tmp_path / name / "snapshot-00000012.safetensors")
        for key, tensor in expected.items():
            torch.testing.assert_close(found[key], tensor, atol=1e-5, rtol=1e-4)
