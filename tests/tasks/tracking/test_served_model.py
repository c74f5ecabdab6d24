"""A model in MLflow's registry: the same translations, no pickle, and an answer to a POST."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from tasks.tracking.run import tracked
from tests.random_model import write_folder
from tests.workspace import environment
from transformer.translator import Translator

LINES = ["the red cat sees the dog", "", "the old bird"]


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, and mlflow.db where a stage makes it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    write_folder(tmp_path / "models/e")
    return tmp_path


@pytest.mark.fault("F33")
def test_a_folder_that_mlflow_cannot_store_costs_a_warning(local: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tracked("e", None) as run:
        run.model(local / "models/none")
        run.metrics(1, {"loss": 1.0})
    assert "warning: MLflow: " in capsys.readouterr().err
    assert "MLFLOW_TRACKING_URI" not in os.environ
    found = MlflowClient(f"sqlite:///{local}/mlflow.db").get_run(run.run_id)
    assert (found.info.status, found.data.metrics) == ("FINISHED", {"loss": 1.0})


@pytest.mark.slow
def test_mlflow_serves_it_and_answers_a_post(local: Path) -> None:
    with tracked("e", None) as run:
        run.model(local / "models/e")
    (registered,) = MlflowClient(f"sqlite:///{local}/mlflow.db").search_model_versions("name = 'e'")
    assert (int(registered.version), registered.run_id) == (1, run.run_id)
    assert not [path for path in local.rglob("*") if path.suffix in (".pkl", ".pickle")]
    assert post(local, {"inputs": LINES}) == {"predictions": Translator.load("models/e").translate(LINES)}


def post(folder: Path, request: dict[str, list[str]]) -> object:
    """What `mlflow models serve` answers, started outside the project: the model brings its own code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "models:/e/1", "--env-manager", "local"]
    log = folder / "serve.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port)], cwd=folder, stdout=output, stderr=output, start_new_session=True,
            env=environment(MLFLOW_TRACKING_URI=f"sqlite:///{folder}/mlflow.db"),
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 240
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=10)
                break
            except OSError:
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.5)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations",
            json.dumps(request).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=240) as answer:
            return json.load(answer)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
