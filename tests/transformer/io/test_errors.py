"""How a command ends: what the user can put right in one line, a defect in a traceback and a line that names it."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT, environment
from transformer.io.errors import InputError, did_you_mean, explain, run_main


def fail(error: Exception) -> None:
    raise error


def test_what_the_user_can_put_right_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run_main(lambda: fail(InputError("params.yaml: no")))
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: params.yaml: no\n"


def test_a_long_list_of_known_names_is_cut() -> None:
    assert did_you_mean("zz", ["one", "two"]) == "known: one, two"
    assert did_you_mean("zz", [f"e{number}" for number in range(93)]).endswith(", e13, e14 and 78 more")


@pytest.mark.parametrize(
    ("limit", "main", "line"),
    [
        ("FSIZE", "open('big', 'wb').write(bytes(10_000))", "a file has become larger than a file may be here; "),
        ("NOFILE", "[open('one', 'w') for _ in range(50)]", "too many open files to open one; "),
        ("", "open('folder', 'w')", "folder: a folder is where a file should be; "),
        ("", "os.mkdir('file/folder')", "file/folder: a file is where a folder should be; "),
        ("", "Path('file').mkdir(exist_ok=True)", "file: a file is where a folder should be; "),
        ("", "open('a' * 300, 'w')", f"{'a' * 300}: the name is too long "),
    ],
)
def test_what_the_system_refuses_for_a_reason_of_the_users_is_one_line(
    limit: str, main: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    code = "import os, resource; from pathlib import Path; from transformer.io.errors import run_main\n"
    if limit:
        code += f"resource.setrlimit(resource.RLIMIT_{limit}, (40, 40))\n"
    command = [sys.executable, "-Bc", f"{code}run_main(lambda: {main})"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith(f"error: {line}")


def test_what_is_not_permitted_is_the_users_only_where_it_is_a_file() -> None:
    """Root may do all of it, and no test can make a file system read-only for itself."""
    assert str(explain(PermissionError(errno.EACCES, "no", "here"))).startswith("here: permission denied; give")
    assert str(explain(OSError(errno.EROFS, "no", "here"))).startswith("here: it is on a read-only file system; ")
    named = PermissionError(errno.EACCES, "Failed to open local file 'here'. Detail: no")  # as pyarrow has it
    assert str(explain(named)).startswith("Failed to open local file 'here'. Detail: no: permission denied; ")
    assert explain(PermissionError(errno.EPERM, os.strerror(errno.EPERM))) is None  # to end another user's process
    assert explain(FileNotFoundError(errno.ENOENT, "no", "here")) is None


def test_a_cluster_that_says_how_many_but_not_which_hides_no_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "four")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SystemExit) as caught:
        run_main(lambda: fail(ValueError("broken")))
    assert caught.value.code == "error: ValueError: broken"


@pytest.mark.parametrize(("ranks", "line"), [("1", "ValueError: broken"), ("4", "rank 3: ValueError: broken")])
def test_a_defect_is_named_in_the_last_line_with_its_rank(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ranks: str, line: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", ranks)
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(SystemExit) as caught:
        run_main(lambda: fail(ValueError("broken\nand more of it")))
    assert caught.value.code == f"error: {line}"  # which Python prints, and ends with 1
    assert "and more of it" in capsys.readouterr().err  # in the traceback


def start(main: str) -> subprocess.Popen[bytes]:
    """A command with this `main`, whose standard output is as Python makes it where nothing is set: with a buffer."""
    code = f"import sys, time; from transformer.io.errors import run_main; run_main(lambda: {main})"
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**environment(), "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell without job control lets what it starts in the background ignore Ctrl-C, these tests among it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def test_ctrl_c_ends_a_command_by_the_signal_and_without_a_word() -> None:
    process = start("(print('begun', flush=True), time.sleep(60))")
    assert process.stdout and process.stdout.readline() == b"begun\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=240) == (b"", b"")
    assert process.returncode == -signal.SIGINT


def test_a_reader_that_leaves_before_what_is_in_the_buffer_makes_no_noise() -> None:
    process = start("(sys.stdin.read(), print('nobody reads this'))")
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.close()  # upon which it writes
    assert process.stderr.read() == b""
    assert process.wait(240) == 1
