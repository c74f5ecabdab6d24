"""What is said while something else keeps the flow waiting; what it waits for comes only once it has been said."""

import fcntl
from pathlib import Path

import pytest
from zc.lockfile import LockFile

from flows import plan, server
from flows.locks import FOLDER
from flows.waiting import waiting


def test_what_takes_no_time_is_not_told() -> None:
    said: list[str] = []
    with waiting(said.append, "waiting"):
        pass
    assert said == []


def test_the_plan_says_that_dvc_is_locked(workspace: Path) -> None:
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    lock = LockFile(str(FOLDER))
    said: list[str] = []

    def note(line: str) -> None:
        said.append(line)
        lock.close()

    needed = plan.read_plan(["tiny"], note).needed
    assert said == [f"waiting: another process has locked this folder for DVC ({FOLDER})"]
    lock = LockFile(str(FOLDER))
    assert plan.out_of_date(needed, note) == set(needed)
    assert len(said) == 2


def test_a_second_start_of_a_server_says_that_it_waits_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    server.STATE.mkdir()
    with (server.STATE / "start.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)

        def note(line: str) -> None:
            said.append(line)
            fcntl.flock(first, fcntl.LOCK_UN)

        monkeypatch.setattr(server, "say", note)
        with server.alone():
            assert said == ["waiting for another process, which starts a Prefect server in this folder"]
