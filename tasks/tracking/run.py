"""MLflow: one run for each experiment, shared by its stages. A stage never waits for it, and loses nothing to it.

What is logged goes to runs/E/tracking.jsonl at once, and from there to MLflow in a thread. What MLflow did not take
(server down, database locked) is delivered by the next stage of any experiment. The id of a run travels with the
artifacts (training.json), so that each stage adds to the run of the training whose weights it has; where MLflow was
away for all of the training, that is a key, by which MLflow finds the run that is made later.
"""

import re
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tasks.common.paths import RUNS
from tasks.tracking.outbox import PATIENCE, PATIENCE_IF_HELD_UP, Courier, Outbox, Refused
from tasks.tracking.store import Store, load
from transformer.io.errors import InputError

FILE = "tracking.jsonl"
SECONDS_TO_UPLOAD = 3600.0  # a large model, as long as nothing fails


class Run:
    """A run in MLflow that can fail only with a warning. What is said to it is kept at once, and delivered meanwhile.

    Args:
        name: the experiment's name in params.yaml.
        run_id: the id or key from an earlier stage, to add to its run; without one a new run is made.
    """

    def __init__(self, name: str, run_id: str | None = None) -> None:
        self.name = name
        self.key = run_id or uuid.uuid4().hex
        self._warned: set[str] = set()
        self._path = RUNS / name / FILE
        self._store = Store()
        with suppress(Exception):  # the thread tries again, and says what is wrong
            load()  # here: seconds of importing beside a training would make its first updates slow
        others = [Outbox(path.absolute()) for path in RUNS.glob(f"*/{FILE}") if path != self._path]
        self._courier = Courier(Outbox(self._path.absolute()), others, self._store.deliver, self._warn)
        self._put("start")

    @property
    def run_id(self) -> str:
        """MLflow's id of the run, or the key as long as MLflow has not given one."""
        return self._store.ids.get(self.key, self.key)

    def parameters(self, values: dict[str, Any]) -> None:
        """Log nested settings once, as `model.layers: 6`. A later value becomes a tag, `changed.model.layers`."""
        self._put("parameters", values=dict(_flatten(values)))

    def metrics(self, update: int, values: dict[str, float]) -> None:
        """Log numbers at an update."""
        self._put("metrics", update=update, values=values)

    def tags(self, values: dict[str, str]) -> None:
        """Set tags."""
        self._put("tags", values=values)

    def artifact(self, path: Path) -> None:
        """Store a file with the run."""
        self._put_path("artifact", path)

    def model(self, folder: Path) -> None:
        """Register a model folder as the next version of the model with the experiment's name, to be served."""
        self._put_path("model", folder)
        self.flush(SECONDS_TO_UPLOAD)

    def flush(self, patience: float = PATIENCE) -> None:
        """Give MLflow what it has not had yet; a minute without an answer, or seconds where it is known to be away."""
        self._courier.flush(patience)

    def end(self, status: str) -> None:
        """Set the status (FINISHED, FAILED or KILLED), and flush: for seconds at most if asked to stop."""
        self._put("end", status=status)
        self.flush(PATIENCE_IF_HELD_UP if status == "KILLED" else PATIENCE)
        self._courier.close()

    def _put_path(self, kind: str, path: Path) -> None:
        written = path.stat().st_mtime_ns if path.exists() else None
        self._put(kind, path=str(path), written=written)

    def _put(self, kind: str, **facts: Any) -> None:
        now = int(time.time() * 1000)
        try:
            self._courier.put({"kind": kind, "run": self.key, "experiment": self.name, "time": now, **facts})
        except (OSError, ValueError) as error:
            self._warn_once(error, "MLflow will lack what cannot be written there")

    def _warn(self, error: Exception) -> None:
        refused = isinstance(error, Refused)
        self._warn_once(error, "left out" if refused else f"{self._path} keeps what it lacks until it can be delivered")

    def _warn_once(self, error: Exception, rest: str) -> None:
        if rest not in self._warned:
            self._warned.add(rest)
            why = re.sub(r"//[^/@\s]+@", "//", " ".join(str(error).split()))  # an address may hold a password
            print(f"warning: MLflow: {why[:200]}; {rest}", file=sys.stderr, flush=True)


@contextmanager
def tracked(name: str, run_id: str | None) -> Iterator[Run]:
    """The run of an experiment for the length of a stage: FINISHED if the stage succeeds, else FAILED.

    KILLED if it is asked to stop.
    """
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    run = Run(name, run_id)
    try:
        yield run
    except SystemExit:  # asked to stop, to go on another time
        run.end("KILLED")
        raise
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, InputError):
            run.tags({"error": str(error)})
        run.end("FAILED")
        raise
    run.end("FINISHED")


def _flatten(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
