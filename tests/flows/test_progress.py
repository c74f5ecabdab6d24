"""A stage that says how far it is gets a progress artifact; a server that fails costs nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter

from flows import progress, reproduce
from flows.progress import Progress

TELLING = """
import json, os, pathlib
if name == "shards@one":
    for fraction in (0.25, 0.5):
        pathlib.Path(os.environ["REPRODUCE_PROGRESS"]).write_text(json.dumps({"fraction": fraction, "text": f"at {fraction}"}))
        print("done", fraction, flush=True)
        deadline = time.monotonic() + 240
        while not pathlib.Path(f"shown-{100 * fraction}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
"""  # noqa: E501


@pytest.mark.slow
def test_a_stage_that_tells_its_progress_has_an_artifact_of_its_task(
    workspace: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", -1.0)
    made: list[float] = []
    create, update = progress.create_progress_artifact, progress.update_progress_artifact

    def note(percent: float) -> None:
        made.append(percent)
        Path(f"shown-{percent}").touch()

    monkeypatch.setattr(progress, "create_progress_artifact", lambda p, **more: note(p) or create(p, **more))
    monkeypatch.setattr(progress, "update_progress_artifact", lambda i, p, **more: note(p) or update(i, p, **more))
    work = Path("work.py").read_text()
    Path("work.py").write_text(work + TELLING)
    state: Any = reproduce.reproduce_paper(["tiny"], return_state=True)
    assert state.is_completed()
    run = FlowRunFilter(id={"any_": [state.state_details.flow_run_id]})
    with get_client(sync_client=True) as client:
        artifacts = [one for one in client.read_artifacts(flow_run_filter=run) if one.type == "progress"]
        (task,) = [one for one in client.read_task_runs(flow_run_filter=run) if one.name == "shards@one"]
    ((key, data, text, owner),) = [(one.key, one.data, one.description, one.task_run_id) for one in artifacts]
    assert (key, data, text, owner) == ("shards-one", 50.0, "at 0.5", task.id)
    assert made == [25.0, 50.0]


@pytest.mark.fault("F33")
def test_calls_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 1e9)
    monkeypatch.setattr(progress, "create_progress_artifact", lambda *a, **k: calls.append("create") or "id")
    monkeypatch.setattr(progress, "update_progress_artifact", lambda *a, **k: calls.append("update"))
    with progress.watched("train@tiny") as watched:
        watched.look()  # there is nothing yet
        for fraction in range(50):
            watched.file.write_text(json.dumps({"fraction": fraction / 50, "text": "x"}))
            watched.look()
    assert calls == ["create"]  # when it began there was nothing, and then only its end is looked at


@pytest.mark.fault("F33")
def test_a_server_that_fails_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", -1.0)
    calls = []

    def fail(*arguments: object, **more: object) -> None:
        calls.append(arguments)
        raise ConnectionError("database is locked")

    monkeypatch.setattr(progress, "create_progress_artifact", fail)
    watched = Progress("train@tiny", tmp_path / "progress.json")
    watched.file.write_text('{"fraction": 0.5, "text": "half"}')
    for _ in range(10):
        watched.look()
    assert len(calls) == progress.GIVE_UP_AFTER


@pytest.mark.parametrize("content", ["", "{", "{}", '{"fraction": "many", "text": ""}', "[]"])
def test_what_a_stage_writes_wrongly_ends_nothing(tmp_path: Path, content: str) -> None:
    watched = Progress("train@tiny", tmp_path / "progress.json")
    watched.file.write_text(content)
    watched.look()
    assert watched.artifact is None
