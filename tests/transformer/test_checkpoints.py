"""What a checkpoint holds, and what is left of one that was being written when its process was killed."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.transformer.conftest import stop_after
from transformer.batches import plan_epoch
from transformer.checkpoints import checkpoints, read_weights, snapshots
from transformer.files import read_json, remove_unfinished, sha256
from transformer.trainer import Stopped, Trainer

Make = Callable[..., Trainer]
FILES = ["optimizer.safetensors", "progress.json", "settings.json", "sha256.json", "weights.safetensors"]


def test_it_holds_all_that_a_training_continues_from(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.made_from = {"model": {"layers": 1}, "subwords": "a hash"}
    trainer.run()
    newest = checkpoints(trainer.folder)[-1]
    assert sorted(path.name for path in newest.iterdir()) == FILES
    progress = read_json(newest / "progress.json")
    lengths = trainer.train_lengths
    batches = len(plan_epoch(*lengths, trainer.training.tokens_per_update, trainer.training.seed, epoch=0))
    assert progress["update"] == progress["epoch"] * batches + progress["batch"] == 12
    assert read_json(newest / "settings.json") == trainer.made_from
    assert read_json(newest / "sha256.json").keys() == set(FILES) - {"sha256.json"}
    moments = read_weights(newest / "optimizer.safetensors")
    parameters = len(list(trainer.model.parameters()))
    assert {name.split(".")[1] for name in moments} == {"step", "exp_avg", "exp_avg_sq"}
    assert len(moments) == 3 * parameters


def test_the_newest_two_are_kept(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.seconds_between_checkpoints = -1.0  # after every update
    trainer.run()
    assert [path.name for path in checkpoints(trainer.folder)] == ["checkpoint-00000011", "checkpoint-00000012"]


def test_stopped_after_any_update_it_ends_with_the_same_weights(make_trainer: Make) -> None:
    """Also at the end of an epoch and right before the end."""
    through = make_trainer("through")
    through.run()
    batches = len(plan_epoch(*through.train_lengths, 60, seed=1, epoch=0))
    assert 1 < batches < 12
    for update in range(1, 12):
        first = make_trainer(f"stopped-{update}")
        stop_after(first, update)
        with pytest.raises(Stopped):
            first.run()
        again = make_trainer(f"stopped-{update}")
        again.run()
        for name, tensor in through.model.state_dict().items():
            assert torch.equal(again.model.state_dict()[name], tensor), (update, name)


@pytest.mark.parametrize("name", FILES)
def test_damage_to_any_file_is_noticed(make_trainer: Make, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = make_trainer()
    trainer.run()
    newest = checkpoints(trainer.folder)[-1]
    if name == "progress.json":  # still JSON, but another training
        content = json.loads((newest / name).read_text())
        (newest / name).write_text(json.dumps({**content, "update": 11}))
    else:
        content = (newest / name).read_bytes()
        (newest / name).write_bytes(content[: len(content) // 2])
    make_trainer().run()
    assert f"{newest} is damaged" in capsys.readouterr().err


def test_what_a_killed_save_left_is_deleted_at_the_next_start(make_trainer: Make) -> None:
    trainer = make_trainer()
    of_files = (".snapshot-00000006.safetensors.7.tmp", ".tmpAbCdEf")  # ours, and that of safetensors
    left = [trainer.folder / name for name in (".checkpoint-00000005.k1ll3d.tmp", *of_files)]
    left[0].mkdir(parents=True)
    (left[0] / "weights.safetensors").write_bytes(b"half")
    for path in left[1:]:
        path.write_bytes(b"half")
    trainer.run()
    assert not [path for path in left if path.exists()]


def test_a_save_killed_in_the_library_leaves_what_the_next_start_deletes(tmp_path: Path) -> None:
    """safetensors gives the file it writes a name of its own until it is whole; this notices if that changes."""
    code = """if True:
        import resource, signal, torch
        from safetensors.torch import save_file
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        save_file({"tensor": torch.zeros(1000)}, "file")
    """
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == -signal.SIGXFSZ
    assert any(tmp_path.iterdir())
    remove_unfinished(tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_training_killed_after_its_last_save_keeps_no_old_checkpoint(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.run()
    before = checkpoints(trainer.folder)
    shutil.copytree(before[0], trainer.folder / "checkpoint-00000001")
    make_trainer().run()
    assert checkpoints(trainer.folder) == before


def test_others_may_read_a_snapshot(make_trainer: Make) -> None:
    trainer = make_trainer()
    trainer.run()
    assert {path.stat().st_mode & 0o777 for path in snapshots(trainer.folder)} == {0o644}


def test_only_what_is_unfinished_is_deleted(tmp_path: Path) -> None:
    for name in (".hidden", "file.tmp", "checkpoint-1"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".file.1.tmp").write_text("half")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "checkpoint-1", "file.tmp"]


def test_snapshots_are_counted_back_from_the_last_update(make_trainer: Make) -> None:
    trainer = make_trainer(updates=10, snapshot_every=4, keep_snapshots=9)
    trainer.run()
    names = [f"snapshot-{update:08d}.safetensors" for update in (2, 6, 10)]
    assert [path.name for path in snapshots(trainer.folder)] == names
    last = read_weights(snapshots(trainer.folder)[-1])
    assert all(torch.equal(last[name], tensor) for name, tensor in trainer.model.state_dict().items())


def test_a_rewritten_snapshot_is_the_same_file(make_trainer: Make) -> None:
    """A training that goes back to an earlier checkpoint writes over the snapshots that it had already written."""
    trainer = make_trainer()
    trainer.run()
    before = {path.name: sha256(path) for path in snapshots(trainer.folder)}
    for path in checkpoints(trainer.folder):
        (path / "sha256.json").unlink()
    make_trainer().run()
    assert {path.name: sha256(path) for path in snapshots(trainer.folder)} == before
