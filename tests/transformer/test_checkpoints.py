"""What a checkpoint holds, and what is left of one that was being written when its process was killed."""

import errno
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.transformer.conftest import SMALL, stop_after
from tests.workspace import ROOT, environment
from transformer.batches import plan_epoch
from transformer.checkpoints import read_weights, write_tensors
from transformer.io import checkpoint_files
from transformer.io.checkpoint_files import (
    checkpoint_path,
    checkpoints,
    set_aside_damaged,
    snapshot_path,
    snapshots,
    update_of,
)
from transformer.io.errors import InputError
from transformer.io.files import read_json, remove_unfinished, sha256, to_json
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
    assert f"warning: {newest}: damaged ({name}: " in capsys.readouterr().err
    assert (newest.parent / f"damaged-{newest.name}" / name).exists()
    assert checkpoints(trainer.folder)[-1] == newest  # written again


def some_checkpoints(make_trainer: Make, *updates: int) -> Trainer:
    """A training of 12 updates, stopped after 2, whose checkpoint stands under each of these numbers too."""
    trainer = make_trainer()
    stop_after(trainer, 2)
    with pytest.raises(Stopped):
        trainer.run()
    for update in updates:
        shutil.copytree(checkpoints(trainer.folder)[0], checkpoint_path(trainer.folder, update))
    return trainer


def cut(checkpoint: Path) -> None:
    content = (checkpoint / "weights.safetensors").read_bytes()
    (checkpoint / "weights.safetensors").write_bytes(content[:-1])


def test_the_last_good_checkpoint_is_not_deleted_for_damaged_ones_above_it(make_trainer: Make) -> None:
    folder = some_checkpoints(make_trainer, 4, 6).folder
    for update in (4, 6):
        cut(checkpoint_path(folder, update))
    set_aside_damaged(folder)
    assert checkpoints(folder) == [checkpoint_path(folder, 2)]
    assert sorted(path.name for path in folder.glob("damaged-*")) == [
        "damaged-checkpoint-00000004",
        "damaged-checkpoint-00000006",
    ]
    stopped = make_trainer()
    stop_after(stopped, 3)
    with pytest.raises(Stopped):
        stopped.run()
    assert [update_of(path) for path in checkpoints(folder)] == [2, 3]


def test_a_damaged_checkpoint_between_good_ones_does_not_count_as_kept(make_trainer: Make) -> None:
    folder = some_checkpoints(make_trainer, 1, 4, 6).folder
    cut(checkpoint_path(folder, 4))
    set_aside_damaged(folder)
    assert [update_of(path) for path in checkpoints(folder)] == [2, 6]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ESTALE, errno.EACCES])
def test_a_checkpoint_that_cannot_be_read_now_is_not_taken_for_damaged(
    make_trainer: Make, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder = some_checkpoints(make_trainer, 4).folder

    def fails(path: Path) -> str:
        raise OSError(number, "not now", str(path))

    monkeypatch.setattr(checkpoint_files, "sha256", fails)
    with pytest.raises(OSError, match="not now"):
        set_aside_damaged(folder)
    assert [update_of(path) for path in checkpoints(folder)] == [2, 4]


def test_where_all_checkpoints_are_damaged_the_user_decides(make_trainer: Make) -> None:
    folder = some_checkpoints(make_trainer, 4).folder
    for path in checkpoints(folder):
        cut(path)
    there = sorted(folder.rglob("*"))
    with pytest.raises(InputError, match=r"no checkpoint is good .*00004: weights.*00002: weights.* move .*state away"):
        make_trainer().run()
    assert sorted(folder.rglob("*")) == there


def test_what_is_no_checkpoint_or_snapshot_is_left_alone(make_trainer: Make) -> None:
    folder = some_checkpoints(make_trainer).folder
    names = [
        "checkpoint-00000006.tmp",
        "checkpoint-6",
        "checkpoint-000000006",
        "snapshot-00000003.safetensors.bak",
        "snapshot-old.safetensors",
    ]
    for name in names:
        (folder / name).write_text("a user's own")
    (folder / "checkpoint-00000099").write_text("a file")
    (folder / "checkpoint-best").mkdir()
    make_trainer().run()
    assert all((folder / name).exists() for name in [*names, "checkpoint-00000099", "checkpoint-best"])
    assert [update_of(path) for path in snapshots(folder)] == [9, 12]


def test_they_are_sorted_by_number(tmp_path: Path) -> None:
    for update in (100_000_000, 99_999_999):
        checkpoint_path(tmp_path, update).mkdir()
        snapshot_path(tmp_path, update).touch()
    assert [update_of(path) for path in checkpoints(tmp_path)] == [99_999_999, 100_000_000]
    assert [update_of(path) for path in snapshots(tmp_path)] == [99_999_999, 100_000_000]


def test_a_snapshot_of_a_later_update_does_not_push_a_new_one_out(make_trainer: Make) -> None:
    """Such are there where a training goes on from an earlier checkpoint."""
    folder = some_checkpoints(make_trainer).folder
    for update in (9, 12, 90):
        snapshot_path(folder, update).write_text("of before")
    stopped = make_trainer()
    stop_after(stopped, 4)
    with pytest.raises(Stopped):
        stopped.run()
    assert [update_of(path) for path in snapshots(folder)] == [3, 9, 12, 90]
    read_weights(snapshot_path(folder, 3))


def test_one_changed_byte_in_weights_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(7), "c": torch.zeros(0), "d": torch.ones(2) > 0}
    write_tensors(path, tensors)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in read_weights(path).items())
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            found = read_weights(path)
        except InputError as error:
            assert str(path) in str(error)
        else:  # in what says nothing of the tensors: a blank, the name of the hash
            assert all(torch.equal(tensor, tensors[name]) for name, tensor in found.items()), place


def test_weights_from_elsewhere_without_a_hash_are_read(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    assert torch.equal(read_weights(tmp_path / "model.safetensors")["a"], torch.ones(2))


def test_a_training_of_an_older_version_whose_last_norms_had_other_names_goes_on(make_trainer: Make) -> None:
    pre = SMALL.model_copy(update={"normalisation": "pre"})
    trainer = make_trainer(model=pre, updates=4)
    trainer.run()
    path = checkpoint_files.checkpoints(trainer.folder)[-1] / "weights.safetensors"
    new = read_weights(path)
    old = {"encoder_norm.": "norms.0.", "decoder_norm.": "norms.1."}
    names = {name: old.get(name[:13], name[:13]) + name[13:] for name in new}
    assert sum(name.startswith("norms.") for name in names.values()) == 4
    write_tensors(path, {names[name]: tensor for name, tensor in new.items()})
    assert read_weights(path).keys() == new.keys()
    (path.parent / "sha256.json").write_text(
        to_json({one.name: sha256(one) for one in path.parent.iterdir() if one.name != "sha256.json"})
    )
    assert make_trainer(model=pre, updates=8).run()["update"] == 8


def test_a_save_that_meets_the_limit_of_a_file_names_it(tmp_path: Path) -> None:
    code = """if True:
        import resource, sys, torch
        from pathlib import Path
        from transformer.checkpoints import write_snapshot
        from transformer.io.errors import run_main
        def main():
            write_snapshot(Path("state"), 3, torch.nn.Linear(50, 50), keep=2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            write_snapshot(Path("state"), 6, torch.nn.Linear(50, 50), keep=2)
        run_main(main)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env=environment(PYTHONPATH=str(ROOT)),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "state/snapshot-00000006.safetensors" in done.stderr
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["snapshot-00000003.safetensors"]


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
    assert len(before) == 2
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
        shutil.rmtree(path)
    make_trainer().run()
    assert {path.name: sha256(path) for path in snapshots(trainer.folder)} == before
