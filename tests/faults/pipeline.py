"""The pipeline that faults are done to: made-up text, one experiment, and what it must end with."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml
from dvc.repo import Repo

from flows.errors import StageError
from flows.plan import read_plan
from flows.processes import marked
from flows.stage import _exit_code
from tests.workspace import PRESETS, corpus_settings, environment, experiment_settings, make_workspace, write_corpus

NAME = "small"
# The first stages as the flow runs them, up to one; without a server this takes a fourth of the time.
SHORT_FLOW = """
import sys, uuid
from flows.errors import StageError
from flows.plan import read_plan
from flows.stage import Run, run_stage

stages = list(read_plan([sys.argv[1]]).needed)
run = Run(id=str(uuid.uuid4()))
try:
    for stage in stages[: stages.index(sys.argv[2]) + 1]:
        run_stage(stage, lambda line: print(line, flush=True), run)
except StageError as error:
    print(f"error: {error.cause}", file=sys.stderr)
    sys.exit(2 if error.is_bad_input else 1)
"""
MARK = "FAULTS"
LONGEST = 1800.0  # seconds after which something that does not end hangs
RANKS = "2"
# What of a result is its run's and not its content's: time, machine, name of the run, hashes that depend on these.
OF_THE_RUN = {
    "seconds", "data_seconds", "validation_seconds", "training_hours", "tokens_per_second", "sentences_per_second",
    "speed", "date", "made_by", "mlflow_run", "peak_memory_bytes", "data_wait_share",
    "hashes", "sha256",
}  # fmt: skip
RESULTS = (
    "data/corpora/**/*", "data/subwords/**/*", "data/shards/**/*", "runs/*/weights/*", "models/**/*", "outputs/**/*",
    "reports/scores/*.json", "reports/metrics/*.json", "reports/curves.csv",
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code, and all that it said."""

    returned: int
    said: str

    @property
    def code(self) -> int:
        """The exit code; of a stage within DVC, or a rank within torchrun, its own."""
        return _exit_code(self.returned, self._lines)

    @property
    def line(self) -> str:
        """The line in which it says why."""
        return StageError("", self.code, self._lines).cause

    @property
    def _lines(self) -> list[str]:
        return [line.rstrip() for line in self.said.splitlines() if line.strip()]

    @property
    def in_one_line(self) -> bool:
        """Whether it ended as what a user can mend does: with 2 and no traceback before torchrun's report of a rank."""
        return self.code == 2 and "Traceback" not in self.said.partition("torch/distributed/elastic")[0]


@dataclass
class Pipeline:
    """Where all happens, and how far the pipeline goes.

    Attributes:
        folder: has the text, the undisturbed project, and a project for each thing that is tried.
        updates: of the training.
        until: the last stage; the flow makes all of them if there is none.
        say: tells how far it is.
    """

    folder: Path
    updates: int = 100
    until: str | None = None
    say: Callable[[str], None] = field(default=lambda line: print(line, file=sys.stderr, flush=True))

    @property
    def command(self) -> list[str]:
        """What a user types to bring all up to date."""
        if self.until:
            return [sys.executable, "-c", SHORT_FLOW, NAME, self.until]
        return [sys.executable, "-m", "flows.reproduce", NAME]

    def fresh(self, name: str) -> Path:
        """A project in which nothing has been made yet."""
        empty = self.folder / "empty"
        if not empty.exists():
            shutil.rmtree(self.folder / "text", ignore_errors=True)
            write_corpus(self.folder / "text")
            params = {
                "corpora": {"made-up": corpus_settings(self.folder / "text")},
                "presets": PRESETS,
                "max_restarts": 1,
                "experiments": {NAME: experiment_settings("made-up", self.updates)},
            }
            making = self.folder / "making"
            shutil.rmtree(making, ignore_errors=True)
            make_workspace(making, params)
            run([sys.executable, "-m", "tasks.check"], making)
            making.rename(empty)
        return self.copy("empty", name)

    def copy(self, name: str, to: str) -> Path:
        """A copy of one project as another, which is replaced."""
        shutil.rmtree(self.folder / to, ignore_errors=True)
        return shutil.copytree(self.folder / name, self.folder / to, symlinks=True)

    def stages(self) -> dict[str, tuple[str, list[str]]]:
        """Each stage in turn with its command and what it writes, from dvc.yaml."""
        with chdir(self.fresh("stages")), Repo() as repo:
            plan = read_plan([NAME])
            known = {stage.addressing: stage for stage in repo.index.stages}
        names = [*plan.needed, *plan.downstream]
        names = names[: names.index(self.until) + 1] if self.until else names
        root = self.folder / "stages"
        return {
            name: (
                " && ".join([known[name].cmd] if isinstance(known[name].cmd, str) else known[name].cmd),
                [str(Path(out.fs_path).relative_to(root)) for out in known[name].outs],
            )
            for name in names
        }

    def undisturbed(self) -> tuple[dict[str, str], dict[str, float]]:
        """The results of a run that nothing happens to, and the seconds at which its stages and its end came."""
        record = self.folder / "undisturbed.json"
        if not record.exists():
            self.say("undisturbed")
            started, began = time.monotonic(), {}
            job = start(self.command, self.fresh("alone"))
            while job.process.poll() is None:
                for process in marked(MARK, job.mark):
                    began.setdefault(kind(process), time.monotonic() - started)
                time.sleep(0.5)
            if (ended := job.end()).code:
                raise RuntimeError(f"the undisturbed pipeline failed: {ended.said[-2000:]}")
            stages = {name: second for name, second in began.items() if name.startswith("stage ")}
            times = {**stages, "end": time.monotonic() - started}
            record.write_text(json.dumps({"results": results(self.folder / "alone"), "times": times}))
        known = json.loads(record.read_text())
        return known["results"], known["times"]

    def before_each_stage(self) -> dict[str, str]:
        """The name of a project for each stage, in which all before it has been made and it has not."""
        names = {stage: f"before-{stage.replace('@', '-')}" for stage in self.stages()}
        if not (self.folder / "done").exists():
            project = self.fresh("staged")
            for stage, name in names.items():
                self.say(f"making what {stage} starts from")
                self.copy("staged", name)
                ended = run([sys.executable, "-m", "dvc", "repro", "--single-item", stage], project)
                if ended.code:
                    raise RuntimeError(ended.said[-2000:])
            self.copy("staged", "done")
        return names


@dataclass
class Job:
    """A command that runs, with all below it marked."""

    process: "subprocess.Popen[bytes]"
    mark: str
    log: Path

    def end(self, seconds: float = LONGEST) -> Ended:
        """Wait for its end; TimeoutExpired after so many seconds. Its children may live on."""
        code = self.process.wait(seconds)
        return Ended(code, self.log.read_text(encoding="utf-8", errors="replace"))


def start(command: list[str] | str, project: Path, **more: Any) -> Job:
    """Start a command in a project; it and all its children bear the project's mark."""
    log = project.with_name(f"{project.name}.{time.time_ns()}.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=project, env=environment(**{MARK: str(project), "PET_NPROC_PER_NODE": RANKS}),
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            shell=isinstance(command, str), **more,
        )  # fmt: skip
    return Job(process, str(project), log)


def run(command: list[str] | str, project: Path, **more: Any) -> Ended:
    """Run a command to its end."""
    job = start(command, project, **more)
    try:
        return job.end()
    finally:
        clear(job.mark)
        job.log.unlink()


def clear(mark: str) -> None:
    """Kill all that bears the mark."""
    while left := marked(MARK, mark):
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.05)


def still_running(mark: str, seconds: float) -> list[str]:
    """What bears the mark after so many seconds in which it may end."""
    deadline = time.monotonic() + seconds
    while (left := marked(MARK, mark)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return sorted(map(kind, left))


def kind(process: psutil.Process) -> str:
    """What a process of the pipeline is: flow, server, DVC, torchrun, rank, `stage NAME`, or another."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return "another"
    programs = {Path(word).name for word in words[:3]}
    task = next((word.removeprefix("tasks.") for word in words if word.startswith("tasks.")), None)
    for name, found in (
        ("flow", "flows.reproduce" in words or SHORT_FLOW in words),
        ("server", "flows.temporary_server" in words),
        ("DVC", "dvc" in programs),
        ("torchrun", "torchrun" in programs),
        ("shell", bool(programs & {"sh", "bash", "dash"})),
        ("rank", task == "train" and "--check" not in words),
    ):
        if found:
            return name
    return f"stage {task}" if task else "another"


def results(project: Path) -> dict[str, str]:
    """The hash of each result's content; what is of the run, as times are, does not count."""
    found = {}
    for pattern in RESULTS:
        for path in sorted(project.glob(pattern)):
            if path.is_file() and path.name != "README.md":
                content = path.read_bytes()
                if path.suffix == ".json":
                    with suppress(ValueError):
                        content = json.dumps(_content(json.loads(content)), sort_keys=True).encode()
                found[str(path.relative_to(project))] = hashlib.sha256(content).hexdigest()
    return found


def _content(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _content(one) for key, one in value.items() if key not in OF_THE_RUN}
    return [_content(one) for one in value] if isinstance(value, list) else value


def different(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """The results that are not the same."""
    return [name for name in sorted(expected | found) if expected.get(name) != found.get(name)]


def done_stages(project: Path) -> set[str]:
    """The stages that DVC has noted as made."""
    with suppress(OSError, yaml.YAMLError, TypeError, KeyError):
        return set(yaml.safe_load((project / "dvc.lock").read_text())["stages"])
    return set()


def unfinished(project: Path) -> list[str]:
    """What lies half written at a result's place or beside it."""
    folders = ("data", "runs", "models", "outputs", "reports")
    return [
        str(path.relative_to(project))
        for folder in folders
        for pattern in (".*.tmp", ".tmp*")
        for path in (project / folder).rglob(pattern)
    ]


def processors() -> str:
    """What the machine is, for the report."""
    return f"{os.cpu_count()} processors, {psutil.virtual_memory().total / 2**30:.0f} GiB"
