"""MLflow: one run for all stages of an experiment, and no failure of it stops a stage."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.tracking import PROJECT, tracked
from tests.workspace import ROOT, environment
from transformer.errors import InputError


@pytest.fixture(autouse=True)
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def found(folder: Path) -> list:  # type: ignore[type-arg]
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    project = client.get_experiment_by_name(PROJECT)
    assert project is not None
    return client.search_runs([project.experiment_id])


def test_stages_share_a_run_and_it_fails_with_a_stage(local: Path) -> None:
    with tracked("e", None) as first:
        first.parameters({"model": {"layers": 6}, "long": "x" * 10_000})
        first.metrics(5, {"loss": 2.0})
    with tracked("e", first.run_id) as second:
        second.parameters({"model": {"layers": 6.0}})  # at a resume: written once, no error
    (run,) = found(local)
    assert run.info.status == "FINISHED"
    assert run.data.params["model.layers"] == "6"
    assert run.data.metrics == {"loss": 2.0}
    with pytest.raises(InputError), tracked("e", first.run_id):
        raise InputError("the file is gone")
    (run,) = found(local)
    assert run.info.status == "FAILED"
    assert run.data.tags["error"] == "the file is gone"


def test_a_run_that_another_store_holds_is_made_anew(local: Path) -> None:
    with tracked("e", "0123456789abcdef0123456789abcdef") as run:
        pass
    assert [one.info.run_id for one in found(local)] == [run.run_id]


@pytest.mark.fault("F33")
def test_a_server_that_is_down_costs_seconds_and_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    started = time.monotonic()
    with tracked("e", None) as run:
        run.metrics(1, {"loss": 1.0})
    assert time.monotonic() - started < 30
    assert "going on without it" in capsys.readouterr().err


@pytest.mark.fault("F33")
def test_processes_that_find_no_database_make_it_one_after_another(local: Path) -> None:
    script = "from tasks.tracking import tracked\nwith tracked('e', None) as run: run.metrics(1, {'loss': 1.0})"
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", script], cwd=local, env=environment(PYTHONPATH=str(ROOT)), stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for job in jobs:
        _, errors = job.communicate(timeout=120)
        assert b"warning: MLflow" not in errors
    assert len(found(local)) == 3
