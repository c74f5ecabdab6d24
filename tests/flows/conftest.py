"""A small workspace of the project's shape whose stages only write the time, and one Prefect server for all tests."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="prefect-home-")  # before anything imports Prefect
os.environ.pop("PREFECT_API_URL", None)

CHECKOUT = Path(__file__).parents[2]

PARAMS = """
corpora: {one: {}, two: {}}
experiments: {tiny: {corpus: one}, other: {corpus: two}}
sweeps: {tiny: {}}
"""

STAGES = """
stages:
  corpus:
    foreach: ${corpora}
    do:
      cmd: python work.py corpus@${key} data/corpus/${key}
      outs: ["data/corpus/${key}"]
  shards:
    foreach: ${corpora}
    do:
      cmd: python work.py shards@${key} data/shards/${key}
      deps: ["data/corpus/${key}"]
      outs: ["data/shards/${key}"]
  train:
    foreach: ${experiments}
    do:
      cmd: python work.py train@${key} models/${key}
      meta: {slot: true}
      deps: ["data/shards/${item.corpus}"]
      outs: ["models/${key}"]
  score:
    foreach: ${experiments}
    do:
      cmd: python work.py score@${key} scores/${key}.json
      deps: ["models/${key}"]
      outs: ["scores/${key}.json"]
  sweep:
    foreach: ${sweeps}
    do:
      cmd: python work.py sweep@${key} sweeps/${key}
      deps: ["models/${key}"]
      outs: ["sweeps/${key}"]
  report:
    cmd: cat scores/*.json > table.md || true
    deps: [scores, reports/failures]
    outs: [table.md: {cache: false}]
"""

# A stage does what wishes/NAME says, else writes its output; times/NAME gets a line at its start and at its end.
WORK = """
import subprocess, sys, time
from pathlib import Path

name, out = sys.argv[1:]
wish = Path("wishes", name)
wished = wish.read_text().split() if wish.exists() else []

def note(what):
    with Path("times", name).open("a") as file:
        file.write(f"{what} {time.time()}\\n")

note("start")
print("hello from", name)
if wished[:1] == ["fail-once"]:
    wish.unlink()
    sys.exit(1)
if wished[:1] == ["crash"]:
    sys.exit(1)
if wished[:1] == ["exit"]:
    print("error: line 7 is empty", file=sys.stderr)
    sys.exit(int(wished[1]))
if wished[:1] == ["sleep"]:
    subprocess.run(["sleep", wished[1]])
if wished[:1] == ["until"]:
    deadline = time.monotonic() + 240
    while not Path(wished[1]).exists():
        assert time.monotonic() < deadline, f"no {wished[1]} after four minutes"
        time.sleep(0.05)
if wished[:1] == ["stay"]:
    # Its child is in a session of its own and wants to stay.
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: None); time.sleep(%s)" % wished[1]
    subprocess.run([sys.executable, "-c", stubborn], start_new_session=True)
Path(out).parent.mkdir(parents=True, exist_ok=True)
Path(out).write_text(f"| {name} |\\n")
note("end")
"""

# The check that the flow runs first; it does not mind.
CHECK = "import sys; sys.exit(0)\n"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    files = {
        "params.yaml": PARAMS,
        "dvc.yaml": STAGES,
        "work.py": WORK,
        "tasks/check.py": CHECK,
        "tasks/__init__.py": "",
    }
    for name, text in (
        files | {"scores/.gitkeep": "", "reports/failures/.gitkeep": "", "times/x": "", "wishes/x": ""}
    ).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "-q"], cwd=folder, check=True)
    return folder


@pytest.fixture
def workspace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh workspace; the current folder, and where this project's `flows` are found from."""
    folder = tmp_path / "workspace"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    return folder


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server for all tests that need one; flows in this process report to it."""
    from prefect.settings import get_current_settings

    from flows.server import server

    before = Path.cwd()
    os.environ["PYTHONPATH"] = str(CHECKOUT)
    os.chdir(tmp_path_factory.mktemp("server"))
    try:
        context = server()
        context.__enter__()
    finally:
        os.chdir(before)
    yield str(get_current_settings().api.url)
    context.__exit__(None, None, None)
