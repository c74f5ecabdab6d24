"""Flip one byte of an artifact before the command reads it."""

import os
import random
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.faults.part import Part
from tests.faults.pipeline import Ended, Pipeline, clear, different, results, run, start

TITLE = "One flipped byte"
WAYS = {"edited": "a new time of change", "rotten": "the same time of change, as on a disk that errs"}


@dataclass(frozen=True)
class Kind:
    """A kind of artifact: its files, and the project in which they are about to be read."""

    name: str
    files: str
    before: str  # a stage, "stopped" (a training that was) or "done"
    lost: tuple[str, ...] = ()  # results that are gone, and are to be had from the artifact


KINDS = (
    Kind("text of the corpus", "data/corpora/*/train.*", "subwords"),
    Kind("sub-word model", "data/subwords/*/subwords.model", "shards"),
    Kind("manifest of the shards", "data/shards/*/manifest.json", "train"),
    Kind("shard", "data/shards/**/*.parquet", "train"),
    Kind("unpacked array", "data/unpacked/*/*/*.npy", "stopped"),
    Kind("checkpoint", "runs/*/state/checkpoint-*/*", "stopped"),
    Kind("snapshot of a training that goes on", "runs/*/state/snapshot-*", "stopped"),
    Kind("snapshot of one that is done", "runs/*/weights/snapshot-*", "average"),
    Kind("model", "models/*/model.safetensors", "translate"),
    Kind("sub-word model in a model", "models/*/subwords.model", "translate"),
    Kind("translations", "outputs/*/test.xx", "score"),
    Kind("score file", "reports/scores/*.json", "report"),
    Kind("object in DVC's cache", ".dvc/cache/files/md5/*/*", "done", ("data/*", "models", "outputs", "runs")),
)


def flips(pipeline: Pipeline, times: int, seed: int) -> Part:
    """So many flips of each kind in each way."""
    part = Part.read(pipeline.folder, "flips", TITLE)
    expected, _ = pipeline.undisturbed()
    part.done = (
        "One bit of one byte, drawn, of a file, drawn, of each kind, in a project in which the stage that reads it "
        f"comes next; then the command. What is edited has {WAYS['edited']}, what is rotten {WAYS['rotten']}. It must "
        "end with the results of the undisturbed run, or with exit code 2 and a line that names the file or its folder."
    )
    part.head = ["kind", "file", "byte", "way", "exit code", "came of it"]
    before = {stage.partition("@")[0]: name for stage, name in pipeline.before_each_stage().items()}
    for kind in KINDS:
        if kind.before == "stopped" and "train" in before:
            template = stopped(pipeline, before["train"])
        elif kind.before in {*before, "done"}:
            template = before.get(kind.before, "done")
        else:
            continue  # not before the last stage that is asked for
        for way in WAYS:
            for number in range(times):
                if sum(row[0] == kind.name and row[3] == way for row in part.rows) <= number:
                    _flip(pipeline, part, kind, way, template, expected, random.Random(f"{seed} {kind} {way} {number}"))
                    part.write(pipeline.folder)
    part.complete = True
    part.write(pipeline.folder)
    return part


def _flip(
    pipeline: Pipeline, part: Part, kind: Kind, way: str, template: str, expected: dict[str, str], draw: random.Random
) -> None:
    project = pipeline.copy(template, "flipped")
    run(["dvc", "status", "--quiet"], project)  # which notes hashes and times of what is there
    files = sorted(path for path in project.glob(kind.files) if path.is_file() and path.stat().st_size)
    path = draw.choice(files)
    byte = draw.randrange(path.stat().st_size)
    for pattern in kind.lost:
        for lost in project.glob(pattern):
            if lost.name != "sources":
                shutil.rmtree(lost)
    flip(path, byte, 1 << draw.randrange(8), keep_time=way == "rotten")
    ended = run(pipeline.command, project)
    name = str(path.relative_to(project))
    # Text, sub-words, shards and snapshots are a way to weights and scores, to which a changed one may do nothing:
    # not every snapshot is averaged.
    on_the_way = name.startswith(("data/", "runs/"))
    wrong = [one for one in different(expected, results(project)) if one != name or not on_the_way]
    good, came = judged(ended, name, wrong)
    pipeline.say(f"{kind.name}, {way}: {name}: {came}")
    part.rows.append([kind.name, name, byte, way, ended.code, came])
    part.count("flips")
    if good:
        part.count("that ended in a line" if ended.code else "that ended with the same results")
    else:
        part.faults.append(f"{kind.name}, {way}: {name}, byte {byte}: {came}")


def judged(ended: Ended, name: str, wrong: list[str]) -> tuple[bool, str]:
    """Whether it ended well or with a line that names the file or its folder, and what came of it in a few words."""
    if ended.code == 0:
        return not wrong, f"different, without a word: {', '.join(wrong)}" if wrong else "the same results"
    parts = Path(name).parts
    named = any("/".join(parts[:n]) in ended.said for n in range(3, len(parts) + 1)) and ended.in_one_line
    return named, ended.line


def flip(path: Path, byte: int, bit: int, keep_time: bool) -> None:
    """Change one bit in place."""
    about = path.stat()
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(byte)
        old = file.read(1)[0]
        file.seek(byte)
        file.write(bytes([old ^ bit]))
    path.chmod(about.st_mode)
    if keep_time:
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def stopped(pipeline: Pipeline, before: str) -> str:
    """A project whose training was asked to stop when it had two checkpoints."""
    if not (pipeline.folder / "stopped").exists():
        project = pipeline.copy(before, "stopping")
        job = start(pipeline.command, project)
        while len(list(project.glob("runs/*/state/checkpoint-*"))) < 2:
            if job.process.poll() is not None:
                raise RuntimeError("the training ended before it was asked to stop: give it more updates")
            time.sleep(0.05)
        job.process.send_signal(signal.SIGTERM)
        job.end()
        clear(job.mark)
        project.rename(pipeline.folder / "stopped")
    return "stopped"
