"""MLflow: one run for all stages of an experiment, and no failure of it stops a stage."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from tasks.mlflow_link import compare_page
from tasks.tracking import PROJECT, tracked
from tests.workspace import ROOT, environment
from transformer.errors import InputError


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of MLflow, which take seconds to make."""
    from mlflow.tracking import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(autouse=True)
def local(empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(empty_database, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


def found(folder: Path, query: str = "") -> list:  # type: ignore[type-arg]
    from mlflow.tracking import MlflowClient

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
    """Also the run of the table that all of them belong to is made once."""
    Path("mlflow.db").unlink()
    script = (
        "import sys; from tasks.tracking import tracked\n"
        "with tracked(sys.argv[1], None) as run: run.metrics(1, {'loss': 1.0})"
    )
    names = {"table3-A1": "row A1", "table3-A2": "row A2", "base": "base"}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", script, name],
            cwd=local, env=environment(PYTHONPATH=str(ROOT)), stderr=subprocess.PIPE,
        )
        for name in names
    ]  # fmt: skip
    for job in jobs:
        _, errors = job.communicate(timeout=200)
        assert b"warning: MLflow" not in errors
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


def test_the_link_opens_the_newest_runs_of_experiments_side_by_side(
    local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "params.yaml", local)
    runs = {}
    for name in ("base", "base", "big", "tiny"):
        with tracked(name, None) as run:
            runs[name] = run.run_id
    project = found(local)[0].info.experiment_id
    lists = {"runs": f'["{runs["base"]}", "{runs["big"]}"]', "experiments": f'["{project}"]'}
    monkeypatch.setenv("REPRODUCE_MLFLOW_PORT", "5009")
    page, _, query = compare_page(["base", "big"]).partition("?")
    assert (page, dict(parse_qsl(query))) == ("http://127.0.0.1:5009/#/compare-runs", lists)
    with pytest.raises(InputError, match="no run of experiment 'news'"):
        compare_page(["base", "news"])
    with pytest.raises(InputError, match=r"params\.yaml: no experiment 'bas'; did you mean 'base'"):
        compare_page(["bas"])


def test_a_link_asked_for_before_any_training_leaves_nothing_behind(local: Path) -> None:
    shutil.copy(ROOT / "params.yaml", local)
    Path("mlflow.db").unlink()
    with pytest.raises(InputError, match=r"no mlflow\.db here, .* make reproduce EXPERIMENT=base"):
        compare_page(["base"])
    assert [path.name for path in local.iterdir()] == ["params.yaml"]
