import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from zc.lockfile import LockFile

from flows import lockfile
from flows.cache import distrust
from flows.errors import BadInput, StageError
from flows.locks import FOLDER
from flows.stage import Run, check_input, run_command, run_stage


def _run(name: str, log: list[str] | None = None) -> None:
    run_stage(name, (log if log is not None else []).append, Run(id=f"test {time.time()}"))


def test_lines_come_one_by_one_also_those_drawn_again() -> None:
    lines: list[str] = []
    code = r"import sys; sys.stdout.buffer.write(b'a 1%\ra 2%\rb\n\ncaf\xe9\n'); sys.exit(3)"
    assert run_command([sys.executable, "-c", code], lines.append, Run(id="test"))[0] == 3
    assert lines == ["a 1%", "a 2%", "b", "caf\ufffd"]


def test_failure_tells_the_stages_own_exit_code_and_why(workspace: Path) -> None:
    Path("wishes/corpus@one").write_text("exit 2")
    log: list[str] = []
    with pytest.raises(StageError) as caught:
        _run("corpus@one", log)
    assert (caught.value.exit_code, caught.value.cause) == (2, "line 7 is empty")
    assert "hello from corpus@one" in log


def test_the_exit_code_of_a_rank_passes_through_torchrun(workspace: Path) -> None:
    # torchrun itself ends with 1 and writes a report of this form.
    report = "print('  exitcode  : 2 (pid: 7)'); raise SystemExit(1)"
    stages = {"stages": {"train": {"cmd": f'python -c "{report}"', "outs": ["x"]}}}
    Path("dvc.yaml").write_text(yaml.safe_dump(stages))
    with pytest.raises(StageError) as caught:
        _run("train")
    assert caught.value.is_bad_input


def test_the_cause_is_what_the_failing_rank_said() -> None:
    report = ["torchrun: a report", "  exitcode  : 1 (pid: 7)", "ERROR: failed to reproduce 'train@tiny'"]
    assert (
        StageError("train@tiny", 1, ["error: rank 1: ValueError: x", *report * 20], False).cause
        == "rank 1: ValueError: x"
    )
    killed = ["  traceback : Signal 9 (SIGKILL) received by PID 7", *report]
    assert StageError("train@tiny", 1, killed).cause == "Signal 9 (SIGKILL) received by PID 7"


def test_what_dvc_may_not_write_is_the_users_to_put_right() -> None:
    refused = "ERROR: failed to reproduce 'x': [Errno 30] Read-only file system: '/here/x'"
    assert StageError("x", 255, [refused]).is_bad_input
    assert not StageError("x", 255, [refused.replace("30", "2")]).is_bad_input
    assert not StageError("x", 1, [refused.replace("ERROR", "said")]).is_bad_input


def test_a_failure_is_repeated_if_the_stage_says_the_same_whichever_rank_speaks() -> None:
    run, last = Run(id="test"), "FloatingPointError: the loss or the weights at update {} are not finite"
    repeated = []
    for stage, line in (("a", "rank 0: " + last.format(7)), ("b", last.format(7)), ("a", "rank 1: " + last.format(8)),
                        ("a", last.format(8)), ("a", ""), ("a", "")):  # fmt: skip
        error = StageError(stage, 1, [f"error: {line}", "ERROR: failed"] if line else ["Killed"])
        run.note(error)
        repeated.append(error.repeated)
    assert repeated == [False, False, False, True, False, False]


def test_what_the_check_refuses_is_bad_input(workspace: Path) -> None:
    Path("tasks/check.py").write_text("import sys; print('error: params.yaml: no'); sys.exit(2)")
    with pytest.raises(BadInput, match=r"^params\.yaml: no$"):
        check_input(["tiny"], print, Run(id="test"))


@pytest.mark.fault("F35")
def test_waits_for_who_has_the_stage_and_then_finds_it_done(workspace: Path) -> None:
    Path("wishes/corpus@one").write_text("until told")
    first = subprocess.Popen([sys.executable, "-m", "dvc", "repro", "-s", "corpus@one"])
    while not Path("times/corpus@one").exists():
        time.sleep(0.05)
    log: list[str] = []

    def note(line: str) -> None:
        log.append(line)
        if line.startswith("waiting"):
            Path("told").touch()

    run_stage("corpus@one", note, Run(id=f"test {time.time()}"))
    assert first.wait() == 0
    assert Path("times/corpus@one").read_text().count("start") == 1
    assert [line for line in log if line.startswith(f"waiting: process {first.pid} (")]
    assert log[-1] == "Stage 'corpus@one' didn't change, skipping"
    assert not [line for line in log if "busy" in line]


def test_says_who_has_locked_the_folder_for_dvc_while_it_waits(workspace: Path) -> None:
    """As `dvc push` does for as long as it takes."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    lock = LockFile(str(FOLDER))
    log: list[str] = []

    def note(line: str) -> None:
        log.append(line)
        if line.startswith("waiting"):
            lock.close()

    run_stage("corpus@one", note, Run(id=f"test {time.time()}"))
    assert log[0] == f"waiting: process {os.getpid()} has locked this folder for DVC ({FOLDER})"
    assert sum(line.startswith("waiting") for line in log) == 1
    assert Path("data/corpus/one").exists()


@pytest.mark.parametrize("keep_time", [True, False])
def test_a_damaged_object_of_the_cache_is_made_anew_and_not_restored(workspace: Path, keep_time: bool) -> None:
    _run("corpus@one")
    made = Path("data/corpus/one").read_text()
    (stored,) = Path(".dvc/cache/files/md5").glob("*/*")
    about = stored.stat()
    stored.chmod(0o644)
    stored.write_text(made.replace("corpus", "copius"))
    stored.chmod(about.st_mode)
    if keep_time:
        os.utime(stored, ns=(about.st_atime_ns, about.st_mtime_ns))
    Path("data/corpus/one").unlink()
    _run("corpus@one")
    assert Path("data/corpus/one").read_text() == made
    assert Path("times/corpus@one").read_text().count("start") == 2


@pytest.mark.parametrize("left", [0, 200, 40], ids=["nothing", "most of it", "the beginning"])
def test_a_lock_file_that_a_killed_dvc_left_half_written_comes_back(workspace: Path, left: int) -> None:
    _run("corpus@one")
    whole = Path("dvc.lock").read_bytes()
    _run("corpus@two")
    Path("dvc.lock").write_bytes(Path("dvc.lock").read_bytes()[:left].removesuffix(b"\n"))
    lockfile.KEPT.write_bytes(whole)  # of before the stage whose end is not noted
    log: list[str] = []
    run_stage("shards@one", log.append, Run(id=f"test {time.time()}"))
    assert log[0].startswith("dvc.lock: damaged, as DVC leaves it when it is killed")
    assert Path("times/corpus@one").read_text().count("start") == 1
    assert list(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) == ["corpus@one", "shards@one"]


def test_a_lock_file_of_which_nothing_was_kept_is_put_aside(workspace: Path) -> None:
    Path("dvc.lock").touch()
    log: list[str] = []
    run_stage("corpus@one", log.append, Run(id=f"test {time.time()}"))
    assert log[0].endswith("it is dvc.lock.damaged now, and what was kept of it after the last stage is nothing yet")
    assert lockfile.KEPT.read_bytes() == Path("dvc.lock").read_bytes()


def test_objects_of_another_user_are_left_as_they_are(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run("corpus@one")

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    before = _modes()
    monkeypatch.setattr(Path, "chmod", refuse)
    distrust()
    assert _modes() == before


def _modes() -> dict[str, int]:
    return {str(path): path.stat().st_mode for path in Path(".dvc/cache").rglob("*")}


@pytest.mark.fault("F35")
@pytest.mark.parametrize("left", ["reused", "half written"])
def test_starts_cleanly_after_a_kill(workspace: Path, left: str) -> None:
    _run("corpus@one")
    stranger = subprocess.Popen(["sleep", "600"])  # has the number that a killed DVC had
    info = {"pid": stranger.pid, "cmd": "dvc repro"}
    path = str(workspace / "data/corpus/one")
    locks = json.dumps({"write": {path: info}, "read": {path: [info]}})
    Path(".dvc/tmp/rwlock").write_text(locks if left == "reused" else "")
    try:
        _run("shards@one")
        assert Path("times/shards@one").read_text().count("start") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.fault("F35")
def test_several_at_once_all_end_up_in_dvc_lock(workspace: Path) -> None:
    names = ["corpus@one", "corpus@two"]
    threads = [threading.Thread(target=_run, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(yaml.safe_load(Path("dvc.lock").read_text())["stages"]) == set(names)


def test_a_run_that_ends_leaves_no_process_and_starts_none(workspace: Path) -> None:
    Path("wishes/corpus@one").write_text("sleep 600")
    run = Run(id=f"test {time.time()}")
    ended: list[StageError] = []

    def stage() -> None:
        try:
            run_stage("corpus@one", print, run)
        except StageError as error:
            ended.append(error)

    thread = threading.Thread(target=stage)
    thread.start()
    while not Path("times/corpus@one").exists():
        time.sleep(0.05)
    run.end(grace=1.0)
    thread.join(240)
    assert ended and ended[0].stopped
    with pytest.raises(StageError, match="corpus@two"):
        run_stage("corpus@two", print, run)
    assert not Path("times/corpus@two").exists()
