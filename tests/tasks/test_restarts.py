"""A failing rank, a stop from outside and a foreign checkpoint, in real trainings under torchrun."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks import train
from tasks.common.settings import read_experiment
from tests.workspace import PRESETS, ROOT, corpus_settings, environment, experiment_settings, write_corpus
from transformer.io.checkpoint_files import CHECKPOINT_FILES, checkpoint_path, checkpoints
from transformer.io.files import read_json, sha256

# `tasks.train`, in which rank 1 fails before an update, in as many starts as FAILURES says. From update 21 on, when
# there is a checkpoint, it takes its time if there is a PAUSE.
JOB = """
import os, time
from tasks import train
from transformer.io.errors import run_main
from transformer.trainer import Trainer

step = Trainer.step

def failing_step(self, update, *work):
    if self.rank == 1 and update == 30 and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < int(os.environ["FAILURES"]):
        raise ValueError("a cable is broken\\nand more of it")
    time.sleep(float(os.environ.get("PAUSE", "0")) if update > 20 else 0)
    step(self, update, *work)

Trainer.step = failing_step
if os.environ["RANK"] == "0" and os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
    time.sleep(3)  # when it comes, the other rank has long looked for its address
run_main(train.main)
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of the made-up language, and two experiments on them that differ in their warm-up."""
    folder = tmp_path_factory.mktemp("workspace")
    write_corpus(folder / "text")
    one, other = experiment_settings("c", updates=60), experiment_settings("c", updates=60)
    other["changes"]["warmup"] = 90
    params = {
        "corpora": {"c": corpus_settings(folder / "text")},
        "presets": PRESETS,
        "max_restarts": 1,
        "experiments": {"one": one, "other": other},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    (folder / "job.py").write_text(JOB)
    for stage in ("corpus", "subwords", "shards"):
        done = run(folder, sys.executable, "-m", f"tasks.{stage}", "c")
        assert done.returncode == 0, done.stderr
    return folder


def run(folder: Path, *command: str, **extra: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=folder, env=environment(PYTHONPATH=str(ROOT), **extra), capture_output=True, text=True, timeout=240
    )


def torchrun(max_restarts: int, experiment: str) -> list[str]:
    return ["torchrun", "--nproc-per-node=2", f"--max-restarts={max_restarts}", "job.py", experiment]


@pytest.mark.slow
def test_a_failed_training_goes_on_from_its_last_checkpoint(workspace: Path) -> None:
    done = run(workspace, *torchrun(1, "one"), FAILURES="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.index("error: rank 1: ValueError: a cable is broken\n") < done.stderr.index(
        "train: continuing after update 20"
    )
    assert (workspace / "runs/one/weights/snapshot-00000060.safetensors").exists()


@pytest.mark.slow
def test_the_failing_ranks_error_is_the_first_and_the_only_one(workspace: Path) -> None:
    done = run(workspace, *torchrun(0, "other"), FAILURES="9")
    assert done.returncode == 1
    said = done.stderr.partition("torch/distributed/elastic")[0]  # what comes behind is torchrun's report
    assert re.findall("^error: .*", done.stderr, re.M) == ["error: rank 1: ValueError: a cable is broken"]
    assert said.count("Traceback") == 1
    assert "ValueError: a cable is broken\nand more of it\n" in said


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["torchrun", "all"])
def test_asked_to_stop_it_saves_and_is_not_started_again(workspace: Path, whom: str) -> None:
    shutil.rmtree(workspace / "runs/other", ignore_errors=True)
    job = subprocess.Popen(
        torchrun(3, "other"), cwd=workspace, start_new_session=True, stderr=subprocess.PIPE, text=True,
        env=environment(PYTHONPATH=str(ROOT), FAILURES="0", PAUSE="1"),
    )  # fmt: skip
    state = workspace / "runs/other/state"
    deadline = time.monotonic() + 240
    while not checkpoints(state):
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    (os.kill if whom == "torchrun" else os.killpg)(job.pid, signal.SIGTERM)
    errors = job.communicate(timeout=240)[1]
    assert job.returncode != 0
    stopped = re.search(r"train: stopped after update (\d+), which is saved", errors)
    assert stopped, errors
    assert checkpoints(state)[-1].name == f"checkpoint-{int(stopped[1]):08d}"
    assert "continuing" not in errors


@pytest.mark.slow
def test_two_machines_train_together(workspace: Path) -> None:
    """Both are this one: two torchruns that meet as those of two machines do, in a folder that they share."""
    shutil.rmtree(workspace / "runs/one", ignore_errors=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}"]
    jobs = [
        subprocess.Popen(
            ["torchrun", *meeting, "-m", "tasks.train", "one"], cwd=workspace, stderr=subprocess.PIPE, text=True,
            env=environment(PYTHONPATH=str(ROOT)),
        )
        for _ in range(2)
    ]  # fmt: skip
    errors = [job.communicate(timeout=240)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], errors
    done = read_json(workspace / "runs/one/weights/training.json")
    assert (done["update"], done["made_by"][-1]["machine"]["devices"]) == (60, 2)


def inputs_of(folder: Path, experiment: str) -> dict[str, Any]:
    settings = read_experiment(experiment, *train.SECTIONS, path=folder / "params.yaml")
    return train.fingerprint(settings, train.read_inputs(settings.corpus))


def write_made_up_checkpoint(state: Path, update: int, settings: dict[str, Any]) -> Path:
    """A checkpoint that is whole as far as hashes tell."""
    folder = checkpoint_path(state, update)
    folder.mkdir(parents=True)
    for name in CHECKPOINT_FILES:
        train.write_json(folder / name, settings)
    train.write_json(folder / "sha256.json", {name: sha256(folder / name) for name in CHECKPOINT_FILES})
    return folder


def test_a_checkpoint_of_other_settings_is_refused_with_the_difference(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    there, wanted = inputs_of(workspace, "one"), inputs_of(workspace, "other")
    folder = Path("runs/other")
    shutil.rmtree(folder, ignore_errors=True)
    train.set_aside_other(folder, wanted)
    write_made_up_checkpoint(folder / "state", 20, there)
    for options in ([], ["--check"]):
        done = run(workspace, sys.executable, "-m", "tasks.train", *options, "other")
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            "error: runs/other/state/checkpoint-00000020: made from other settings or data "
            "(training.warmup 100, now 90); move it out of this folder"
        ]
    shutil.rmtree(folder)


@pytest.mark.slow
def test_where_rank_0_meets_bad_input_it_alone_says_so(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    damaged = write_made_up_checkpoint(Path("runs/other/state"), 20, inputs_of(workspace, "other"))
    (damaged / "weights.safetensors").write_text("cut")
    done = run(workspace, *torchrun(0, "other"), FAILURES="0")
    check = run(workspace, sys.executable, "-m", "tasks.train", "--check", "other")
    shutil.rmtree("runs/other")
    assert done.returncode == 1
    problem = "checkpoint-00000020: weights.safetensors: not what was written"
    error = f"error: runs/other/state: no checkpoint is good ({problem})"
    assert [line.partition(";")[0] for line in re.findall("^error: .*", done.stderr, re.M)] == [error]
    assert check.returncode == 2
    assert [line.partition(";")[0] for line in check.stderr.splitlines()] == [error]


@pytest.mark.parametrize("damage", ["{", '{"model": {"layers": 2}}', None], ids=["cut", "changed", "missing"])
def test_checkpoints_tell_whose_state_it_is_where_its_record_is_damaged(tmp_path: Path, damage: str | None) -> None:
    wanted = {"model": {"layers": 1}}
    train.set_aside_other(tmp_path, wanted)
    write_made_up_checkpoint(tmp_path / "state", 1, wanted)
    record = tmp_path / "state/settings.json"
    record.unlink() if damage is None else record.write_text(damage)
    train.refuse_foreign(tmp_path, wanted)
    train.set_aside_other(tmp_path, wanted)
    assert checkpoints(tmp_path / "state")
    assert read_json(record) == wanted


def test_checkpoints_of_the_same_settings_and_damaged_ones_are_not_refused(tmp_path: Path) -> None:
    wanted = {"model": {"layers": 1}, "subwords": "a"}
    train.set_aside_other(tmp_path, wanted)
    write_made_up_checkpoint(tmp_path / "state", 1, wanted)
    for update, settings in ((2, '{"model"'), (3, '{"model": {"layers": 3}}')):
        damaged = write_made_up_checkpoint(tmp_path / "state", update, wanted)
        (damaged / "settings.json").write_text(settings)
    train.refuse_foreign(tmp_path, wanted)
    assert len(checkpoints(tmp_path / "state")) == 3


def test_a_state_that_will_be_set_aside_is_not_refused(tmp_path: Path) -> None:
    train.set_aside_other(tmp_path, {"model": {"layers": 1}})
    train.write_json(tmp_path / "state/checkpoint-00000001/settings.json", {"model": {"layers": 1}})
    train.refuse_foreign(tmp_path, {"model": {"layers": 2}})
    train.set_aside_other(tmp_path, {"model": {"layers": 2}})
    assert [path.name for path in tmp_path.glob("old-*/checkpoint-*")] == ["checkpoint-00000001"]


def test_states_of_unknown_settings_are_all_kept(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"state/checkpoint-{number}").mkdir(parents=True)
        train.set_aside_other(tmp_path, {"model": {"layers": 1}})
        (tmp_path / "state/settings.json").unlink()
        (tmp_path / "state").rmdir()
    assert sorted(path.name for path in tmp_path.glob("old-*/*")) == ["checkpoint-1", "checkpoint-2", "checkpoint-3"]
