import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter

from flows import reproduce

DEAD_SERVER = "http://127.0.0.1:9/api"


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = reproduce.bring_up_to_date.with_options(retry_delay_seconds=0.1)
    monkeypatch.setattr(reproduce, "bring_up_to_date", quick)


def _flow(*experiments: str) -> Any:
    return reproduce.reproduce_paper(list(experiments), return_state=True)


def _tasks(state: Any, at_least: int = 1) -> dict[str, Any]:
    """Task runs of a flow run, by name; they reach the server a moment after their end."""
    run = FlowRunFilter(id={"any_": [state.state_details.flow_run_id]})
    for _ in range(600):
        with get_client(sync_client=True) as client:
            runs = {one.name: one for one in client.read_task_runs(flow_run_filter=run)}
        if len(runs) >= at_least and all(one.state and one.state.is_final() for one in runs.values()):
            break
        time.sleep(0.1)
    return runs


def _start(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "flows.reproduce", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell without job control lets what it starts in the background ignore Ctrl-C, these tests among it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _span(stage: str) -> tuple[float, float]:
    start, end = (float(line.split()[1]) for line in Path("times", stage).read_text().splitlines())
    return start, end


def test_stages_are_tasks_side_by_side_and_the_table_is_an_artifact(workspace: Path, prefect_server: str) -> None:
    for name, other in (("shards@one", "shards@two"), ("shards@two", "shards@one")):
        Path("wishes", name).write_text(f"until times/{other}")
    stages = (
        Path("dvc.yaml")
        .read_text()
        .replace('deps: ["data/shards/${item.corpus}"]', 'deps: ["data/shards/${item.corpus}", extra]')
    )
    Path("dvc.yaml").write_text(stages + "  extra:\n    cmd: echo > extra\n    outs: [extra]\n")
    state = _flow("tiny", "other")
    assert state.is_completed()
    (one_start, one_end), (two_start, two_end) = _span("shards@one"), _span("shards@two")
    assert max(one_start, two_start) < min(one_end, two_end)
    both = {f"{name}@{key}" for name in ("corpus", "shards") for key in ("one", "two")}
    ends = {f"{name}@{key}" for name in ("train", "score") for key in ("tiny", "other")}
    assert set(_tasks(state)) == both | ends | {"extra", "sweep@tiny", "report"}
    with get_client(sync_client=True) as client:
        tables = client.read_artifacts(flow_run_filter=FlowRunFilter(id={"any_": [state.state_details.flow_run_id]}))
    assert [(table.key, table.data) for table in tables] == [("table", "| score@other |\n| score@tiny |\n")]


@pytest.mark.fault("F32")
def test_a_failed_stage_is_tried_again_and_nothing_else(
    workspace: Path, prefect_server: str, quick_retries: None
) -> None:
    Path("wishes/shards@one").write_text("fail-once")
    assert _flow("tiny").is_completed()
    assert Path("times/shards@one").read_text().count("start") == 2
    assert Path("times/corpus@one").read_text().count("start") == 1


def test_what_fails_twice_with_the_same_words_is_not_tried_a_third_time(
    workspace: Path, prefect_server: str, quick_retries: None
) -> None:
    Path("wishes/corpus@one").write_text("exit 1")
    assert _flow("tiny").is_failed()
    assert Path("times/corpus@one").read_text().count("start") == 2
    Path("wishes/corpus@one").write_text("crash")
    assert _flow("tiny").is_failed()
    assert Path("times/corpus@one").read_text().count("start") == 2 + 3


def test_a_file_that_the_user_must_put_right_is_one_line(workspace: Path) -> None:
    Path(".dvc/tmp/lock").unlink(missing_ok=True)
    Path(".dvc/tmp/lock").mkdir(parents=True)
    process = _start("tiny")
    out, error = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    lock = Path(".dvc/tmp/lock").resolve()
    assert error == f"error: {lock}: Is a directory; put that right, and the same command continues\n"


def test_bad_input_is_not_tried_again(workspace: Path, prefect_server: str, quick_retries: None) -> None:
    Path("wishes/corpus@one").write_text("exit 2")
    state = _flow("tiny")
    assert (state.name, state.message) == ("BadInput", "corpus@one: line 7 is empty")
    assert Path("times/corpus@one").read_text().count("start") == 1


def test_what_does_not_depend_on_a_failed_stage_goes_on(
    workspace: Path, prefect_server: str, quick_retries: None
) -> None:
    Path("wishes/shards@one").write_text("exit 5")
    state = _flow("tiny", "o*")
    assert state.is_failed()
    assert state.message.startswith(
        "shards@one failed with exit code 5 (line 7 is empty); 3 stages that need it did not run. "
    )
    assert "`python -m flows.reproduce tiny 'o*'` continues" in state.message
    assert not Path("scores/tiny.json").exists()
    assert Path("table.md").read_text() == "| score@other |\n"


def test_why_an_experiment_failed_is_told_to_the_report_until_it_is_done(
    workspace: Path, prefect_server: str, quick_retries: None
) -> None:
    Path("dvc.yaml").write_text(Path("dvc.yaml").read_text().replace("cat scores/*.json >", "cat reports/failures/* >"))
    Path("wishes/shards@one").write_text("exit 2")
    assert _flow("tiny").name == "BadInput"
    note = json.loads(Path("reports/failures/score@tiny.json").read_text())
    assert Path("reports/failures/sweep@tiny.json").exists()
    assert Path("table.md").read_text().count("shards@one") == 2
    assert (note["stage"], note["error"]) == ("shards@one", "line 7 is empty")
    assert datetime.fromisoformat(note["date"]) <= datetime.now(UTC)
    Path("wishes/shards@one").unlink()
    Path("wishes/sweep@tiny").write_text("exit 2")
    assert _flow("tiny").name == "BadInput"
    assert json.loads(Path("table.md").read_text())["stage"] == "sweep@tiny"  # nothing is said against the scores
    Path("wishes/sweep@tiny").unlink()
    assert _flow("tiny").is_completed()
    assert Path("table.md").read_text() == ""


def test_a_failure_is_told_while_other_stages_still_run(
    workspace: Path, prefect_server: str, quick_retries: None
) -> None:
    Path("wishes/corpus@one").write_text("exit 2")
    Path("wishes/corpus@two").write_text("until reports/failures/score@tiny.json")
    assert _flow("tiny", "other").message == "corpus@one: line 7 is empty"
    assert Path("scores/other.json").exists()


@pytest.mark.slow
def test_what_is_up_to_date_is_no_task_and_only_what_changed_runs(workspace: Path, prefect_server: str) -> None:
    assert _flow("tiny").message == "6 stages are up to date"
    Path("work.py").write_text(Path("work.py").read_text() + "# no stage depends on this\n")
    assert _tasks(again := _flow("tiny"), 0) == {}
    assert again.message == "6 stages are up to date"
    Path("models/tiny").unlink()  # brought back from DVC's cache, as it was
    assert set(_tasks(_flow("tiny"), 3)) == {"train@tiny", "score@tiny", "sweep@tiny"}
    assert [Path("times", name).read_text().count("start") for name in ("train@tiny", "score@tiny")] == [1, 1]
    Path("dvc.yaml").write_text(Path("dvc.yaml").read_text().replace("work.py train@${key}", "work.py  train@${key}"))
    assert _flow("tiny").is_completed()
    assert [Path("times", name).read_text().count("start") for name in ("train@tiny", "score@tiny")] == [2, 1]


@pytest.mark.slow
def test_one_training_after_another_each_scored_before_the_next(workspace: Path, prefect_server: str) -> None:
    assert _flow("other", "tiny").is_completed()
    spans = {name: _span(name) for name in ("train@other", "score@other", "train@tiny", "score@tiny")}
    in_turn = sorted(spans, key=spans.__getitem__)  # whose text is ready first begins
    assert in_turn in (list(spans), [*list(spans)[2:], *list(spans)[:2]])
    assert all(spans[one][1] <= spans[then][0] for one, then in pairwise(in_turn))


@pytest.mark.slow
def test_as_many_trainings_side_by_side_as_are_asked_for_each_with_its_share(
    workspace: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRODUCE_SIDE_BY_SIDE", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    for name, other in (("train@tiny", "train@other"), ("train@other", "train@tiny")):
        Path("wishes", name).write_text(f"until times/{other}")
    work = Path("work.py").read_text() + "import os; print('GPUs', os.environ['CUDA_VISIBLE_DEVICES'])\n"
    Path("work.py").write_text(work)
    lines: dict[str, list[str]] = {}
    run_stage = reproduce.run_stage
    monkeypatch.setattr(
        reproduce, "run_stage", lambda name, log, *a, **k: run_stage(name, lines.setdefault(name, []).append, *a, **k)
    )
    assert _flow("tiny", "other").is_completed()
    assert {line for name in ("train@tiny", "train@other") for line in lines[name]} >= {"GPUs 4", "GPUs 5"}
    assert "GPUs 4,5" in lines["shards@one"]


def test_a_number_of_slots_that_is_none_is_one_line(workspace: Path) -> None:
    out, error = _start("tiny", REPRODUCE_SIDE_BY_SIDE="many").communicate(timeout=240)
    assert (out, error) == ("", "error: REPRODUCE_SIDE_BY_SIDE=many: not a number of trainings; set it to 1, 2, ...\n")


def test_a_proxy_that_prefect_cannot_use_is_one_line(workspace: Path) -> None:
    out, error = _start("tiny", ALL_PROXY="socks5://127.0.0.1:9").communicate(timeout=120)
    assert out == ""
    assert error == (
        "error: ALL_PROXY: Prefect cannot use it (Using SOCKS proxy, but the 'socksio' package is "
        "not installed); name an http:// proxy, or unset it\n"
    )


def test_an_unknown_experiment_is_one_line_and_starts_nothing(workspace: Path) -> None:
    process = _start("tny")
    out, error = process.communicate(timeout=240)
    assert (process.returncode, out) == (2, "")
    assert error == "error: params.yaml: no experiment 'tny'; did you mean 'tiny'?\n"
    assert not Path(".prefect").exists()


@pytest.mark.fault("F33")
@pytest.mark.fault("F35")
@pytest.mark.slow
def test_two_flows_at_once_on_one_workspace_without_a_server(workspace: Path) -> None:
    """Both make the same new database, both want the same stages, and the server that is named is not there."""
    Path("wishes/corpus@one").write_text("sleep 3")
    flows = [_start("tiny", PREFECT_API_URL=DEAD_SERVER) for _ in range(2)]
    outputs = [flow.communicate(timeout=240) for flow in flows]
    assert [flow.returncode for flow in flows] == [0, 0], outputs
    assert Path("times/corpus@one").read_text().count("start") == 1
    for _, error in outputs:
        assert error == f"no Prefect server answers at {urlsplit(DEAD_SERVER).netloc}; using a temporary one\n"
    assert any("corpus@one | " in out for out, _ in outputs)  # on a slow machine one may come when all is done
    assert "locked" not in Path(".prefect/temporary_server.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_flow_leaves_nothing_behind(workspace: Path, prefect_server: str, number: signal.Signals) -> None:
    Path("wishes/corpus@one").write_text("sleep 600")
    flow = _start("tiny", PREFECT_API_URL=prefect_server, TEST_FLOW=str(workspace))
    while not Path("times/corpus@one").exists():
        time.sleep(0.1)
    time.sleep(0.3)
    flow.send_signal(number)
    out, error = flow.communicate(timeout=240)
    assert flow.returncode == 128 + number, error
    assert "Traceback" not in out + error
    assert reproduce.marked("TEST_FLOW", str(workspace)) == []


@pytest.mark.slow
def test_a_flow_whose_server_is_killed_goes_on_and_one_that_is_stopped_with_all_else_ends(workspace: Path) -> None:
    """As a service manager stops all processes at once; the server is there until the flow has said how it ended."""
    Path("wishes/corpus@one").write_text("until told")
    flow = _start("tiny", TEST_FLOW=str(workspace))

    def server() -> psutil.Process | None:
        marked = reproduce.marked("TEST_FLOW", str(workspace))
        return next((one for one in marked if "flows.temporary_server" in one.cmdline()), None)

    def begun(times: int) -> None:
        deadline = time.monotonic() + 240
        while not Path("times/corpus@one").exists() or Path("times/corpus@one").read_text().count("start") < times:
            assert flow.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)

    begun(1)
    first = server()
    assert first
    first.kill()
    psutil.wait_procs([first])
    while (second := server()) is None:  # which is killed while it starts
        time.sleep(0.1)
    second.kill()
    Path("told").touch()
    out, error = flow.communicate(timeout=240)
    assert flow.returncode == 0, out + error
    assert "Prefect's temporary server was killed; it starts again\n" in out

    Path("told").unlink()
    Path("data/corpus/one").unlink()
    flow = _start("tiny", TEST_FLOW=str(workspace))
    begun(2)
    for process in [*reproduce.marked("TEST_FLOW", str(workspace)), psutil.Process(flow.pid)]:
        process.terminate()
    out, error = flow.communicate(timeout=240)
    assert flow.returncode == 128 + signal.SIGTERM, error
    assert "Traceback" not in out + error
