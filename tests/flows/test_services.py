import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.processes import marked
from flows.stage import SECONDS_TO_SAVE

CHECKOUT = Path(__file__).parents[2]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _services(command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "flows.services", command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


def _prefect(api: str, *arguments: str) -> str:
    """What people type; it tries again where the server answers 503, as it does while its SQLite file is busy."""
    command = [sys.executable, "-m", "prefect", *arguments]
    environment = {**os.environ, "PREFECT_API_URL": api}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _start_run(api: str) -> str:
    """The id of a new run of `tiny`, once its first stage has begun."""
    (run,) = re.findall(r"UUID: (\S+)", _prefect(api, "deployment", "run", "reproduce-paper/tiny"))
    deadline = time.monotonic() + 600
    while not Path("times/corpus@one").exists():
        assert time.monotonic() < deadline, f"run {run} began no stage within ten minutes"
        time.sleep(0.2)
    return run


def test_a_taken_port_is_one_line(workspace: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        ended = _services("up", REPRODUCE_PREFECT_PORT=port)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"error: port {port} is taken by another program; set REPRODUCE_PREFECT_PORT to a free one\n"


def test_down_has_nothing_to_do_where_nothing_is_up(workspace: Path) -> None:
    ended = _services("down")
    assert (ended.returncode, ended.stdout) == (0, "nothing is running\n")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_up_deploys_runs_cancels_and_down_leaves_nothing(workspace: Path) -> None:
    shutil.copytree(CHECKOUT / "flows", "flows", ignore=shutil.ignore_patterns("__pycache__"))
    ports = {"REPRODUCE_PREFECT_PORT": str(_free_port()), "REPRODUCE_MLFLOW_PORT": str(_free_port())}
    api = f"http://127.0.0.1:{ports['REPRODUCE_PREFECT_PORT']}/api"
    log = Path("up.log")
    with log.open("w") as file:
        up = subprocess.Popen(
            [sys.executable, "-m", "flows.services", "up"],
            env={**os.environ, **ports},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 600
        while "Ctrl-C" not in log.read_text():
            assert up.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        assert f"export PREFECT_API_URL={api}" in log.read_text()
        assert "are up already" in _services("up", **ports).stderr

        Path("wishes/corpus@one").write_text("stay 100")
        run = _start_run(api)
        assert marked("REPRODUCE_RUN", run)
        _prefect(api, "flow-run", "cancel", run)
        deadline = time.monotonic() + SECONDS_TO_SAVE + 600  # the stage ignores SIGTERM, and is killed
        while marked("REPRODUCE_RUN", run):
            assert time.monotonic() < deadline
            time.sleep(0.2)

        # The next run works, and is ended by `down` together with all else.
        Path("times/corpus@one").unlink()
        run = _start_run(api)
    finally:
        ended = _services("down")
        up.wait(600)
    assert (up.returncode, ended.stdout.splitlines()[-1]) == (0, "stopped"), log.read_text()
    assert marked("REPRODUCE_SERVICES", str(workspace)) == []
    assert marked("REPRODUCE_RUN", run) == []
