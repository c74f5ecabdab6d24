"""MLflow: one run for all stages of an experiment; where it is away nothing waits for it, and nothing is lost."""

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from mlflow.tracking import MlflowClient

from tasks.tracking.run import tracked
from tasks.tracking.store import PROJECT
from tests.workspace import ROOT, environment
from transformer.io.errors import InputError


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of MLflow, which take seconds to make."""
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(autouse=True)
def local(empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(empty_database, tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)  # which knows the rows of Table 3
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def found(folder: Path, query: str = "") -> list:  # type: ignore[type-arg]
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    project = client.get_experiment_by_name(PROJECT)
    assert project is not None
    return client.search_runs([project.experiment_id], query)


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
    """Once: the next stage, which has the same id of the other store, finds it."""
    for _ in range(2):
        with tracked("e", "0123456789abcdef0123456789abcdef") as run:
            pass
        assert [one.info.run_id for one in found(local)] == [run.run_id]


# A stage that logs all kinds of things, says under which key, and then what is added.
STAGE = """
import os, signal, sys
from pathlib import Path
from tasks.tracking.run import tracked
with tracked("e", None) as run:
    run.parameters({"layers": 6})
    for update in (1, 2, 3):
        run.metrics(update, {"loss": 4.0 - update})
    run.tags({"corpus": "c"})
    Path("page.md").write_text("a page")
    run.artifact(Path("page.md"))
    print(run.key, flush=True)
"""


def stage(folder: Path, script: str = STAGE, **extra: str) -> tuple[str, str]:
    """The key that a stage in a process of its own printed, and what it said on standard error."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment(PYTHONPATH=str(ROOT), **extra), text=True,
        capture_output=True, timeout=200,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Another program has the database for itself."""
    with closing(sqlite3.connect(folder / "mlflow.db", isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield
        database.execute("ROLLBACK")


def assert_one_warning(errors: str) -> None:
    (line,) = errors.splitlines()
    assert line.startswith("warning: MLflow: ")
    assert line.endswith("; runs/e/tracking.jsonl keeps what it lacks until it can be delivered")


def assert_all_arrived(client: MlflowClient, run_id: str, status: str = "FINISHED") -> None:
    run = client.get_run(run_id)
    assert run.info.status == status
    assert run.data.params == {"layers": "6"}
    assert (run.data.tags["experiment"], run.data.tags["corpus"]) == ("e", "c")
    history = client.get_metric_history(run_id, "loss")
    assert [(one.step, one.value) for one in history] == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert [artifact.path for artifact in client.list_artifacts(run_id)] == ["page.md"]


def assert_the_next_stage_delivers(folder: Path, key: str) -> None:
    with tracked("e", key) as run:
        pass
    (one,) = found(folder)
    assert one.info.run_id == run.run_id != key
    assert_all_arrived(MlflowClient(f"sqlite:///{folder}/mlflow.db"), run.run_id)


@pytest.mark.fault("F33")
def test_a_locked_database_loses_nothing_and_no_stage_waits_for_its_release(local: Path) -> None:
    with locked(local):  # all the time: a stage that waited for its release would never end
        key, errors = stage(local)
    assert_one_warning(errors)
    assert_the_next_stage_delivers(local, key)


@pytest.mark.fault("F33")
def test_a_database_locked_in_a_training_gets_all_in_order_when_it_is_released(local: Path) -> None:
    with tracked("e", None) as run:
        run.metrics(1, {"loss": 1.0})
        run.flush()
        with locked(local):
            run.metrics(2, {"loss": 2.0})
            run.flush()  # until a try fails
            run.metrics(3, {"loss": 3.0})
        run.metrics(4, {"loss": 4.0})
    history = MlflowClient(f"sqlite:///{local}/mlflow.db").get_metric_history(run.run_id, "loss")
    assert [(one.step, one.value) for one in history] == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]


@pytest.mark.fault("F33")
def test_a_stage_does_not_wait_for_who_makes_the_tables(local: Path) -> None:
    with FileLock("mlflow.db.lock"):
        key, errors = stage(local)
    assert errors == ""  # another stage is at it, and nothing is wrong
    assert_the_next_stage_delivers(local, key)


@pytest.mark.fault("F33")
@pytest.mark.parametrize("listens", [False, True])
def test_a_server_that_refuses_or_never_answers_costs_one_line(local: Path, listens: bool) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        key, errors = stage(local, MLFLOW_TRACKING_URI=uri, MLFLOW_HTTP_REQUEST_TIMEOUT="1")
    assert_one_warning(errors)
    assert_the_next_stage_delivers(local, key)


@pytest.mark.slow
@pytest.mark.fault("F33")
def test_a_server_that_is_up_later_gets_all(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    key, errors = stage(local, MLFLOW_TRACKING_URI=uri)
    assert_one_warning(errors)
    command = ["mlflow", "server", "--backend-store-uri", "sqlite:///mlflow.db", "--port", str(port), "--workers", "1"]
    server = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=local, env=environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 200
        while True:
            try:
                urllib.request.urlopen(f"{uri}/health", timeout=10)
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.2)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        with tracked("e", key) as run:
            pass
        assert_all_arrived(MlflowClient(uri), run.run_id)
    finally:
        server.terminate()
        server.wait()


@pytest.mark.fault("F33")
def test_another_experiment_delivers_what_the_last_stage_of_one_has_left(local: Path) -> None:
    with locked(local):
        key, _ = stage(local)
    path = Path("runs/e/tracking.jsonl")
    with tracked("other", None):
        while 2 * path.read_text().count('{"delivered"') < len(path.read_text().splitlines()):
            time.sleep(0.05)
    (one,) = found(local, f"tags.key = '{key}'")
    assert_all_arrived(MlflowClient(f"sqlite:///{local}/mlflow.db"), one.info.run_id)


@pytest.mark.fault("F33")
def test_what_a_killed_stage_has_logged_is_delivered_by_the_next_one(local: Path) -> None:
    with locked(local):
        key, _ = stage(local, STAGE + "    os.kill(os.getpid(), signal.SIGKILL)\n")
    with Path("runs/e/tracking.jsonl").open("a") as file:
        file.write('{"kind": "metrics", "run": ')  # as a full disk leaves a line
    assert_the_next_stage_delivers(local, key)


@pytest.mark.fault("F33")
def test_asked_to_stop_it_is_killed_in_mlflow_and_goes_on_in_the_same_run(local: Path) -> None:
    key, errors = stage(local, STAGE + "    run.flush()\n    os.kill(os.getpid(), signal.SIGTERM)\n")
    assert errors == ""
    said = [json.loads(line).get("status") for line in Path("runs/e/tracking.jsonl").read_text().splitlines()]
    assert "KILLED" in said  # and MLflow knows, unless this machine is so busy that the stage did not wait for it
    (one,) = found(local)
    assert one.info.status in ("KILLED", "RUNNING")
    assert_the_next_stage_delivers(local, key)


@pytest.mark.fault("F39")
def test_delivered_twice_it_is_there_once(local: Path) -> None:
    """As after a kill between a delivery and the note of it."""
    key, _ = stage(local)
    path = Path("runs/e/tracking.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "delivered" not in json.loads(line)))
    assert_the_next_stage_delivers(local, key)


def test_a_file_that_was_written_anew_is_not_taken_for_the_one_that_was_logged(
    local: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(local):
        key, _ = stage(local, STAGE.replace("print(", 'run.artifact(Path("none")); print('))
    Path("page.md").unlink()
    Path("page.md").write_text("a page of a later stage")
    with tracked("e", key):
        pass
    (one,) = found(local)
    assert (one.info.status, one.data.metrics) == ("FINISHED", {"loss": 1.0})
    assert capsys.readouterr().err == "warning: MLflow: artifact: page.md has been written anew since; left out\n"


def test_a_run_that_was_deleted_is_made_anew(local: Path) -> None:
    with tracked("e", None) as first:
        pass
    MlflowClient(f"sqlite:///{local}/mlflow.db").delete_run(first.run_id)
    with tracked("e", first.run_id) as second:
        second.metrics(1, {"loss": 1.0})
    (one,) = found(local)
    assert (one.info.run_id, one.data.metrics) == (second.run_id, {"loss": 1.0})
    assert second.run_id != first.run_id


def test_a_folder_that_cannot_be_written_costs_one_line(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs").write_text("a file")
    with tracked("e", None) as run:
        run.metrics(1, {"loss": 1.0})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("MLflow will lack what cannot be written there")


@pytest.mark.fault("F33")
def test_processes_that_find_no_database_make_it_one_after_another(local: Path) -> None:
    """Also the run of the table that all of them belong to is made once."""
    Path("mlflow.db").unlink()
    script = (
        "import sys; from tasks.tracking.run import tracked\n"
        "with tracked(sys.argv[1], None) as run: run.metrics(1, {'loss': 1.0})\n"
        "print(run.key)"
    )
    names = {"table3-A1": "row A1", "table3-A2": "row A2", "base": "base"}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", script, name],
            cwd=local, env=environment(PYTHONPATH=str(ROOT)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    for name, job in zip(names, jobs, strict=True):
        key, errors = job.communicate(timeout=200)
        assert errors == ""
        with tracked(name, key.strip()):  # on a busy machine it has not waited for the others to make the tables
            pass
    rows, (table,) = (
        [run for run in found(local) if ("rows_of" in run.data.tags) == is_table] for is_table in (False, True)
    )
    assert (table.info.run_name, table.info.status) == ("Table 3", "FINISHED")
    assert {run.data.tags["experiment"]: run.info.run_name for run in rows} == names
    assert {run.data.tags["mlflow.parentRunId"] for run in rows} == {table.info.run_id}


def test_rows_have_names_and_tags_to_be_found_by(local: Path) -> None:
    for name in ("tiny", "big", "table3-B1", "table3-tiny-C5-seed2"):
        with tracked(name, None):
            pass
    by_name = {run.info.run_name: run for run in found(local)}
    laptop = "Table 3 at laptop size"
    assert set(by_name) == {"tiny", "Table 3", "big", "row B1", laptop, "row C5 at laptop size, seed 2"}
    tags = by_name["row C5 at laptop size, seed 2"].data.tags
    assert (tags["table"], tags["row"], tags["experiment"]) == (laptop, "C5", "table3-tiny-C5-seed2")
    assert tags["mlflow.parentRunId"] == by_name[laptop].info.run_id
    assert "mlflow.parentRunId" not in by_name["tiny"].data.tags
    # The searches in the README.
    assert {run.info.run_name for run in found(local, 'tags.table = "Table 3"')} == {"big", "row B1"}
    assert [run.info.run_name for run in found(local, 'tags.table = "Table 3" and tags.row LIKE "b%"')] == ["big"]


def test_a_run_from_before_its_table_joins_it(local: Path) -> None:
    with tracked("tiny", None) as run:
        pass
    with tracked("base", run.run_id):
        pass
    (table,) = found(local, "tags.rows_of = 'table3'")
    (row,) = found(local, "tags.row = 'base'")
    assert (row.info.run_id, row.data.tags["mlflow.parentRunId"]) == (run.run_id, table.info.run_id)
