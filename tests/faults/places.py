"""Give each stage a disk that fills up, files that may not grow, and a folder that is read-only."""

import ctypes
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tests.faults.part import Part
from tests.faults.pipeline import Ended, Pipeline, clear, different, results, run, unfinished

TITLE = "A full disk, a bound on the size of files, a read-only folder"
LARGE = 2**30
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000  # of unshare(2); Python has it from 3.12 on


def places(pipeline: Pipeline, times: int, seed: int) -> Part:
    """Each stage in each such place, so often with other room on the disk. This process has mounts of its own then."""
    part = Part.read(pipeline.folder, "places", TITLE)
    may_mount = in_a_namespace()
    part.done = (
        "Each stage's command as dvc.yaml has it, in a project in which all before it has been made: on a disk (a "
        "tmpfs) with no room or some share of what it writes, with a bound on the size of files (RLIMIT_FSIZE), and in "
        "a folder mounted read-only. It must end well or with exit code 2 and one line that names a file, leave "
        "nothing half written, and, with the fault lifted, end with the results of the undisturbed run."
    )
    if not may_mount:
        part.done += " This machine allows no mounts, so that only the bound on the size of files was tried."
    part.head = ["stage", "place", "exit code", "last line", "left half written", "with the fault lifted"]
    before, after = pipeline.before_each_stage(), results(pipeline.folder / "done")
    for stage, (command, outs) in pipeline.stages().items():
        expected = {name: value for name, value in after.items() if any(name.startswith(out) for out in outs)}
        sizes = [path.stat().st_size for path in _files(pipeline.folder / "done", outs)]
        draw = random.Random(f"{seed} {stage}")
        shares = [0.0, *(draw.uniform(0.1, 0.9) for _ in range(times))]
        tried: dict[str, Callable[[Path], Any]] = {}
        if may_mount:
            tried |= {f"disk with room for {share:.0%}": _full(int(share * sum(sizes))) for share in shares}
            tried["read-only"] = _read_only
        tried |= {f"files of at most {share:.0%}": _bounded(int(share * max(sizes))) for share in shares[1:]}
        for place, make in tried.items():
            if not any(row[:2] == [stage, place] for row in part.rows):
                _try(pipeline, part, (stage, command, outs), place, make, before[stage], expected, may_mount)
                part.write(pipeline.folder)
    part.complete = True
    part.write(pipeline.folder)
    return part


def _files(project: Path, outs: list[str]) -> list[Path]:
    found = [path for out in outs for path in [project / out, *(project / out).rglob("*")]]
    return [path for path in found if path.is_file()]


def _try(
    pipeline: Pipeline, part: Part, stage: tuple[str, str, list[str]], place: str, make: Callable[[Path], Any],
    template: str, expected: dict[str, str], may_mount: bool,
) -> None:  # fmt: skip
    name, command, outs = stage
    shutil.rmtree(pipeline.folder / "place", ignore_errors=True)
    project = pipeline.folder / "place"
    project.mkdir()
    with _disk(project) if may_mount else nullcontext():
        shutil.copytree(pipeline.folder / template, project, symlinks=True, dirs_exist_ok=True)
        for out in outs:  # a report's place has the folders that it writes into
            (project / out).parent.mkdir(parents=True, exist_ok=True)
        with make(project) as more:
            ended = run(command, project, **(more or {}))
        there = results(project)
        left = [*unfinished(project), *(n for n, value in there.items() if n in expected and value != expected[n])]
        lifted = run(command, project)
        found = {n: value for n, value in results(project).items() if n in expected}
        wrong = different(expected, found) if lifted.code == 0 else [f"exit code {lifted.code}: {lifted.line}"]
        clear(str(project))
    line = "" if ended.code == 0 else ended.line
    pipeline.say(f"{name}, {place}: {ended.code} {line}")
    part.rows.append([name, place, ended.code, line, ", ".join(left), ", ".join(wrong) or "the same results"])
    part.count("tried")
    part.faults += [f"{name}, {place}: {fault}" for fault in _faults(ended, left, wrong)]


def _faults(ended: Ended, left: list[str], wrong: list[str]) -> Iterator[str]:
    if ended.code and not (ended.in_one_line and "/" in ended.line):
        yield f"exit code {ended.code}, and no line that names a file: {ended.line}"
    if ended.code and left:
        yield f"left half written: {', '.join(left)}"
    if wrong:
        yield f"with the fault lifted: {', '.join(wrong)}"


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    _mount("-t", "tmpfs", "-o", f"size={LARGE}", "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _full(room: int) -> Callable[[Path], Any]:
    @contextmanager
    def make(folder: Path) -> Iterator[None]:
        about = os.statvfs(folder)
        used = (about.f_blocks - about.f_bfree) * about.f_frsize
        _mount("-o", f"remount,size={used + room}", str(folder))
        try:
            yield
        finally:
            _mount("-o", f"remount,size={LARGE}", str(folder))

    return make


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    _mount("-o", "remount,ro", str(folder))
    try:
        yield
    finally:
        _mount("-o", "remount,rw", str(folder))


def _bounded(size: int) -> Callable[[Path], Any]:
    @contextmanager
    def make(folder: Path) -> Iterator[dict[str, Any]]:
        yield {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))}

    return make


def in_a_namespace() -> bool:
    """Give this process mounts of its own, which are gone with it; whether the system allows that."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER):
        return False
    if user:  # root, of what is its own, in a namespace of users
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode == 0
