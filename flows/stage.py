"""One stage of dvc.yaml, run as `dvc repro --single-item STAGE` with its output passed on line by line."""

import re
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Event

from flows import lockfile
from flows.cache import distrust
from flows.errors import BadInput, StageError
from flows.locks import clear_dead_locks, told_of_lock
from flows.processes import end_processes, marked, marked_environment
from flows.waiting import Log

MARK = "REPRODUCE_RUN"
SECONDS_TO_SAVE = 25.0  # within the thirty after which Prefect kills a cancelled flow, and torchrun its ranks
BUSY = re.compile(r"^ERROR: .*( is busy, it is being blocked by:|Unable to read RWLock-file)")
HOLDER = re.compile(r"\(PID (\d+)\): (.*)")
EXIT_CODE = re.compile(r"^ERROR: failed to reproduce .*, exited with (-?\d+)$")
# Of torchrun's report; it ends with 1 whatever its ranks end with.
RANK_EXIT_CODE = re.compile(r"^\s*exitcode\s*: (-?\d+)")
HINTS = (  # of DVC, which would stand below every stage
    "Generating lock file",
    "Updating lock file",
    "To track the changes with git",
    "git add",
    "To enable auto staging",
    "dvc config core.autostage",
    "Use `dvc push`",
    "Data and pipelines are up to date",
)


@dataclass
class Run:
    """One run of a flow: its id marks every process that it starts; once `stopping`, it starts no more."""

    id: str
    stopping: Event = field(default_factory=Event)
    told: dict[str, str | None] = field(default_factory=dict)
    """By stage, the line in which it said why it failed when it did so last, whichever rank spoke."""

    def note(self, error: StageError) -> None:
        """Mark the error as repeated if the stage's last try ended with the same line, which names a failed update."""
        line = error.own_line and re.sub(r"^rank \d+: ", "", error.own_line)
        error.repeated = line is not None and self.told.get(error.stage) == line
        self.told[error.stage] = line

    def end(self, grace: float = SECONDS_TO_SAVE) -> None:
        """Leave no process of the run behind; what does not end within `grace` seconds is killed."""
        self.stopping.set()
        end_processes(lambda: marked(MARK, self.id), grace)


def run_stage(name: str, log: Log, run: Run, **environment: str) -> None:
    """Bring one stage up to date; its inputs must be. StageError if it fails.

    Waits for as long as another process works on the same stage or writes what it reads; DVC then looks afresh
    whether there is still work. The stage finds `environment` in its own.
    """
    # DVC takes the repository's lock before and after the stage's command, never during it. Without the wait it gives
    # up after three seconds, and a training that has just finished would be lost to someone's `dvc push`.
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", name]
    distrust()
    told = ""
    pause = 1.0
    while not run.stopping.is_set():
        lockfile.bring_back(log)
        code, lines = run_command(command, log, run, **environment)
        if code == 0:
            lockfile.keep()
            return
        if not any(map(BUSY.match, lines)):
            raise StageError(name, _exit_code(code, lines), lines, stopped=run.stopping.is_set())
        clear_dead_locks()
        holder = next(filter(None, map(HOLDER.search, reversed(lines))), None)
        if holder and holder[0] != told:
            told = holder[0]
            log(f"waiting: process {holder[1]} ({holder[2]}) works on the same files")
        run.stopping.wait(pause)
        pause = min(pause * 1.5, 10.0)
    raise StageError(name, -15, ["stopped with its flow"], stopped=True)


def check_input(experiments: list[str], log: Log, run: Run) -> None:
    """Check params.yaml and the sources of the experiments before any work; BadInput if the user must help."""
    code, lines = run_command([sys.executable, "-m", "tasks.check", *experiments], log, run)
    if code:
        error = StageError("tasks.check", code, lines, stopped=run.stopping.is_set())
        raise BadInput(error.cause) if error.is_bad_input else error


def run_command(command: Sequence[str], log: Log, run: Run, **environment: str) -> tuple[int, list[str]]:
    """Run a command, log each line (also one that is redrawn) as it comes; its exit code and its last lines.

    What DVC says of a path's lock is not logged: it comes again with each try.
    """
    last: deque[str] = deque(maxlen=200)  # torchrun's report has seven for each rank, behind what the failed one said
    busy = False
    with (
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,  # which also makes a line of what ends with a carriage return
            encoding="utf-8",
            errors="replace",
            env=marked_environment(MARK, run.id) | environment,
        ) as process,
        told_of_lock(process.pid, log) if "dvc" in command else nullcontext(),
    ):
        assert process.stdout
        for line in map(str.rstrip, process.stdout):
            if not line or line.strip().startswith(HINTS) or (last and line == last[-1]):
                continue
            last.append(line)
            busy = busy or bool(BUSY.match(line))
            if not busy:
                log(line)
    return process.returncode, list(last)


def _exit_code(code: int, lines: list[str]) -> int:
    """The stage's own exit code where DVC, or torchrun within it, tells it; else DVC's."""
    for pattern in (RANK_EXIT_CODE, EXIT_CODE):
        for match in filter(None, map(pattern.match, reversed(lines))):
            return int(match[1])
    return code
