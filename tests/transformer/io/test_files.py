"""Files and folders appear whole or not at all, and a full disk is one clear line."""

import ast
import errno
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from tests.workspace import ROOT, environment
from transformer import checkpoints
from transformer.io.errors import InputError
from transformer.io.files import move_aside, read_json, remove, resumed_folder, whole_file, whole_folder, write_json


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path) as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    for content in ("old", "half"):
        try:
            with whole_folder(path) as temporary:
                (temporary / "a.txt").write_text(content)
                if content == "half":
                    raise InputError("no")
        except InputError:
            pass
    assert (path / "a.txt").read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_new_folder_replaces_the_old_one_and_what_a_killed_process_left(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "inner").mkdir(parents=True)
    (tmp_path / ".folder.killed.tmp").mkdir()
    with whole_folder(path) as temporary:
        (temporary / "b.txt").write_text("new")
    assert [one.name for one in path.iterdir()] == ["b.txt"]
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_resumed_folder_has_what_was_there_when_it_failed_if_it_is_made_from_the_same(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    for made_from, found in ((1, []), (1, ["1"]), (2, []), (1, [])):
        with pytest.raises(InputError), resumed_folder(path, {"a": made_from}) as temporary:
            assert [one.name for one in temporary.glob("[0-9]")] == found
            (temporary / str(made_from)).touch()
            raise InputError("no")
        assert not path.exists()
    path.mkdir()
    (path / "old").touch()
    with resumed_folder(path, {"a": 1}) as temporary:
        pass
    assert [one.name for one in path.iterdir()] == ["1"]
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


def test_a_resumed_folder_takes_its_place_though_a_kill_left_the_one_before_half_deleted(tmp_path: Path) -> None:
    for folder in ("folder", ".folder.unfinished/folder.old.tmp"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "old").touch()
    with resumed_folder(tmp_path / "folder", {"a": 1}) as temporary:
        (temporary / "new").touch()
    assert [one.name for one in (tmp_path / "folder").iterdir()] == ["new"]
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


# Kills a process that makes a folder before each of its changes of the disk in turn, and then makes the folder again.
KILLS = """
import os, shutil, sys
from pathlib import Path
from transformer.io.files import resumed_folder, whole_file

CHANGES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}
done, said = os.pipe()

def make():
    with resumed_folder(Path("folder"), {"a": 1}) as folder:
        for name in "12":
            if not (folder / name).exists():
                with whole_file(folder / name) as temporary:
                    temporary.write_text("new")
                os.write(said, name.encode())

def killed(changes):
    if (child := os.fork()) == 0:
        def kill(event, arguments):
            nonlocal changes
            changes -= event in CHANGES
            if changes < 0:
                os._exit(9)
        sys.addaudithook(kill)
        make()
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

changes, going = 0, True
while going:
    Path("folder").mkdir()
    Path("folder/old").touch()
    going = killed(changes)
    whole = [path.name for path in Path("folder").glob("*")]
    if going and sorted(whole) != ["1", "2"]:
        assert whole in (["old"], []), whole
        make()
    os.write(said, b".")
    assert sorted(path.name for path in Path("folder").iterdir()) == ["1", "2"]
    times = os.read(done, 99).decode()
    assert times.count("1") <= 1 and times.count("2") <= 1, (changes, times)
    shutil.rmtree("folder")
    left = [path.name for path in Path().iterdir()]
    assert left in ([], [".folder.unfinished"]), left
    changes += 1
print(changes)
"""


def test_a_folder_whose_making_is_killed_anywhere_is_finished_or_gone_on_with(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLS],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 20


@pytest.mark.parametrize("content", [None, b"{", b"\xff"], ids=["missing", "torn", "not text"])
def test_json_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.json"):
        read_json(path)


def test_the_error_of_a_disk_names_the_file_that_the_user_knows(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space") as caught, whole_file(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write does, which knows no name
    assert caught.value.filename == str(tmp_path / "a.txt")
    with pytest.raises(OSError, match="No space") as caught, resumed_folder(tmp_path / "b", {}):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "b")
    with pytest.raises(FileNotFoundError) as caught, whole_folder(tmp_path / "a") as temporary:
        (temporary / "b" / "c.txt").write_text("")
    assert caught.value.filename == str(tmp_path / "a" / "b" / "c.txt")
    with pytest.raises(BrokenPipeError) as broken, whole_file(tmp_path / "a.txt"):
        raise BrokenPipeError
    assert broken.value.filename is None


def test_nothing_that_was_moved_aside_is_written_over(tmp_path: Path) -> None:
    for content in ("one", "two", "three"):
        (tmp_path / "a").write_text(content)
        move_aside(tmp_path / "a", "old-a")
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["one", "three", "two"]


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "there" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    remove(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    remove(tmp_path / "there")
    assert not list(tmp_path.iterdir())


def test_numbers_that_json_lacks_come_back_and_every_program_reads_the_rest(tmp_path: Path) -> None:
    points = [{"y": -math.inf, "z": math.nan}, math.inf]
    path, value = tmp_path / "a.json", {"x": math.inf, "points": points, "text": ["NaN"], "line": "Infinity"}
    write_json(path, value)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    strict = json.loads(path.read_text(), parse_constant=refuse)
    infinite = {"float": "Infinity"}
    named = [{"y": {"float": "-Infinity"}, "z": {"float": "NaN"}}, infinite]
    assert strict == {"x": infinite, "points": named, "text": ["NaN"], "line": "Infinity"}
    assert repr(read_json(path)) == repr(value)
    path.write_text('{"x": Infinity}')  # as older versions wrote it
    assert read_json(path) == {"x": math.inf}


def test_no_other_json_is_written_that_other_programs_do_not_read() -> None:
    """Python's library writes NaN and Infinity as such, unless told not to."""
    project = Path(__file__).parents[3]
    lax = [
        f"{path.relative_to(project)}:{node.lineno}"
        for house in ("transformer", "tasks", "flows")
        for path in (project / house).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dump", "json.dumps")
        if not any(keyword.arg == "allow_nan" for keyword in node.keywords)
    ]
    assert [place.partition(":")[0] for place in lax] == ["tasks/train.py"]  # whose text is hashed and not kept


def test_json_comes_back(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"ä": [1, 2.5, None]})
    assert read_json(tmp_path / "a.json") == {"ä": [1, 2.5, None]}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
def test_a_full_disk_is_one_line_and_exit_code_2() -> None:
    script = """
from transformer.io.errors import run_main
def main():
    with open("/dev/full", "w") as file:
        file.write("x" * 100_000)
run_main(main)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no disk space left")
    assert done.stderr.count("\n") == 1


def test_a_full_disk_under_weights_is_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **keywords: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(OSError, match="No space left") as caught:
        checkpoints.write_tensors(tmp_path / "weights.safetensors", {"a": torch.zeros(1)})
    assert caught.value.filename == str(tmp_path / "weights.safetensors")
