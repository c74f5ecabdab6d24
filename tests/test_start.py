"""What is around a process when it starts: proxies, a user without a name or a home, closed streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.file_server import FileServer
from tests.workspace import ROOT, environment

NOWHERE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}  # nothing listens there


def python(code: str, *shell: str, **extra: str) -> str:
    """What this code prints, run by a shell with these redirections; no proxy or home of the caller's Prefect."""
    kept = {
        name: value for name, value in environment().items() if not name.lower().endswith(("_proxy", "prefect_home"))
    }
    command = ["sh", "-c", f'exec "$0" -c "$1" {" ".join(shell)}', sys.executable, code]
    done = subprocess.run(command, cwd=ROOT, env=kept | extra, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("house", ["flows", "tasks"])
@pytest.mark.parametrize("spelling", ["no_proxy", "NO_PROXY"])
def test_this_machine_is_never_asked_through_a_proxy(house: str, spelling: str) -> None:
    """By the clients of the standard library, of MLflow and of Prefect; what the user has set stays."""
    with FileServer({"file": b"here"}) as server:
        code = f"""
import {house}, urllib.request, requests, httpx
url = "{server.url("file")}"
print(urllib.request.urlopen(url).read().decode(), requests.get(url).text, httpx.get(url).text)
print(*map(bool, map(urllib.request.proxy_bypass, ["localhost", "mirror.example.org", "elsewhere.example.org"])))
"""
        said = python(code, **NOWHERE, **{spelling: "mirror.example.org"}).split()
    assert said == ["here", "here", "here", "True", "True", "False"]


@pytest.mark.parametrize("house", ["flows", "tasks"])
def test_no_proxy_is_left_alone_where_there_is_no_proxy_or_none_is_asked(house: str) -> None:
    code = f"import os, {house}; print(os.environ.get('no_proxy'), os.environ.get('NO_PROXY'))"
    assert python(code).split() == ["None", "None"]
    assert python(code, **NOWHERE, no_proxy="*").split() == ["*", "*"]


@pytest.mark.parametrize("house", ["flows", "tasks", "transformer"])
@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_no_file_takes_the_place_of_a_closed_stream(house: str, closed: list[int], tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"""
import {house}, os, subprocess, sys
print("told", file=sys.stderr)
with open({str(out)!r}, "w") as file:
    assert file.fileno() > 2
    assert not sys.stderr.isatty()
    assert not subprocess.call(["sh", "-c", "echo told >&2 && echo told && read line || true"])
    file.write("only this")
"""
    printed = python(code, *(f"{number}>&-" for number in closed))
    assert out.read_text() == "only this"
    assert printed == ("" if 1 in closed else "told\n")


# A user id that no list of users has, as `docker run -u` gives. Only root could take one here.
NAMELESS = """
import os, pwd
def unknown(uid): raise KeyError(uid)
pwd.getpwuid = unknown
for name in ("USER", "LOGNAME", "LNAME", "USERNAME"): os.environ.pop(name, None)
"""


@pytest.mark.parametrize("house", ["flows", "tasks", "transformer"])
def test_a_user_id_without_a_name_is_one(house: str) -> None:
    name = f"uid-{os.getuid()}"
    assert (
        python(f"{NAMELESS}import {house}, getpass; print(getpass.getuser(), os.environ['USER'])").split() == [name] * 2
    )


@pytest.mark.parametrize("needs", ["flows, prefect.settings, dvc.repo", "tasks, mlflow"])
def test_who_has_no_home_has_that_of_the_flow(needs: str) -> None:
    code = f"{NAMELESS}del os.environ['HOME']\nimport pathlib, {needs}; print(pathlib.Path.home())"
    assert python(code) == f"{ROOT / '.prefect'}\n"


def test_prefect_is_at_home_here_where_nothing_can_be_written_to_the_users_home() -> None:
    code = "import flows; from prefect.settings import PREFECT_HOME; print(PREFECT_HOME.value())"
    assert python(code, HOME="/nonexistent") == f"{ROOT / '.prefect'}\n"


@pytest.mark.parametrize("house", ["flows", "transformer", "tasks"])
def test_nothing_is_compiled_into_a_folder_that_may_be_full(house: str) -> None:
    """Half of a .pyc, as Python leaves it on a full disk, would end every later start."""
    code = f"import {house}, os, sys; print(sys.dont_write_bytecode, os.environ['PYTHONDONTWRITEBYTECODE'])"
    kept = {"PYTHONDONTWRITEBYTECODE": ""}
    assert python(code, **kept).split() == ["True", "1"]
