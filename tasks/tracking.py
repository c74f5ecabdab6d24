"""MLflow: one run for each experiment, shared by its stages. Tracking never stops or delays a stage for long.

Runs go to MLFLOW_TRACKING_URI, or to mlflow.db in the project's folder. The id of a run travels with the artifacts
(training.json), so that each stage adds to the run of the training whose weights it has. The runs of Table 3's rows
are children of one run for the whole table, which is found by its tag `rows_of`.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

import transformer
from tasks.table3_rows import TITLES, Row, parse_name
from transformer.errors import InputError

PROJECT = "attention-is-all-you-need"
LONGEST_VALUE = 500  # characters of a parameter that every MLflow server takes
GIVE_UP_AFTER = 3
SERVING_NEEDS = ("mlflow", "torch", "safetensors", "sentencepiece", "sacremoses", "pydantic", "filelock", "tqdm")


class Run:
    """A run in MLflow that can fail only with a warning. After three failures in a row it is left alone.

    Args:
        name: the experiment's name in params.yaml.
        run_id: of an earlier stage, to add to its run; a new run is made if there is none or it cannot be found.
    """

    def __init__(self, name: str, run_id: str | None = None) -> None:
        self.failures = 0
        self.name, self.run_id = name, run_id
        self._try(self._open)

    def _open(self) -> None:
        # A server that is down must cost seconds, not MLflow's default of minutes.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("DO_NOT_TRACK", "1")
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", str(sys.stderr.isatty()))
        self.failures = GIVE_UP_AFTER - 1  # a server that cannot be opened is not tried again
        from mlflow.entities import RunTag
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # the tables it makes are no news
        self.uri = os.environ.get("MLFLOW_TRACKING_URI") or local_uri()
        # Several processes that find an empty database all try to make its tables, and fail: one at a time.
        with FileLock("mlflow.db.lock"):
            self.client = MlflowClient(tracking_uri=self.uri)
            known = self.client.get_experiment_by_name(PROJECT)
            project = known.experiment_id if known else self.client.create_experiment(PROJECT)
            tags = self._place(project)
        if self.run_id:
            try:
                self.client.get_run(self.run_id)
            except MlflowException:
                self.run_id = None
        if not self.run_id:
            self.run_id = self.client.create_run(project, run_name=run_name(self.name)).info.run_id
        self.client.log_batch(self.run_id, tags=[RunTag(*item) for item in tags.items()])
        self.client.update_run(self.run_id, status="RUNNING")

    def _place(self, project: str) -> dict[str, str]:
        """The tags by which a run is found and grouped. A table has one run, made by whichever row comes first."""
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        tags = {"experiment": self.name}
        row = parse_name(self.name)
        if row is None:
            return tags
        there = self.client.search_runs([project], f"tags.rows_of = '{row.table}'", max_results=1)
        table = there[0] if there else self._table(project, row)
        return {**tags, "table": TITLES[row.table], "row": row.row, MLFLOW_PARENT_RUN_ID: table.info.run_id}

    def _table(self, project: str, row: Row) -> Any:
        table = self.client.create_run(project, run_name=TITLES[row.table], tags={"rows_of": row.table})
        self.client.set_terminated(table.info.run_id)  # it has nothing to do itself
        return table

    def parameters(self, values: dict[str, Any]) -> None:
        """Log nested settings once, as `model.layers: 6`. MLflow lets none change: a new value becomes a tag."""
        flat = dict(_flatten(values))

        def log() -> None:
            from mlflow.entities import Param

            there = self.client.get_run(self.run_id).data.params
            new = {key: value[:LONGEST_VALUE] for key, value in flat.items() if there.get(key) != value[:LONGEST_VALUE]}
            self.client.log_batch(self.run_id, params=[Param(*item) for item in new.items() if item[0] not in there])
            self.tags({f"changed.{key}": value for key, value in new.items() if key in there})

        self._try(log)

    def metrics(self, update: int, values: dict[str, float]) -> None:
        """Log numbers at an update."""

        def log() -> None:
            import time

            from mlflow.entities import Metric

            now = int(time.time() * 1000)
            self.client.log_batch(
                self.run_id, metrics=[Metric(key, value, now, update) for key, value in values.items()]
            )

        self._try(log)

    def tags(self, values: dict[str, str]) -> None:
        """Set tags."""
        self._try(lambda: [self.client.set_tag(self.run_id, key, value) for key, value in values.items()])

    def artifact(self, path: Path) -> None:
        """Store a file with the run."""
        self._try(lambda: self.client.log_artifact(self.run_id, str(path)))

    def model(self, folder: Path) -> None:
        """Register a model folder as the next version of the model with the experiment's name, to be served."""
        self._try(lambda: self._register(folder))

    def _register(self, folder: Path) -> None:
        import mlflow

        there = os.environ.get("MLFLOW_TRACKING_URI")
        mlflow.set_tracking_uri(self.uri)  # also sets the variable, which belongs to the caller
        try:
            with mlflow.start_run(run_id=self.run_id):
                mlflow.pyfunc.log_model(
                    name="translator",
                    python_model=str(Path(__file__).with_name("served_model.py")),
                    artifacts={"model": str(folder.resolve())},
                    code_paths=[str(Path(transformer.__file__).parent)],
                    # Named here, or MLflow finds them out by loading the model in another process.
                    pip_requirements=[f"{name}=={version(name).partition('+')[0]}" for name in SERVING_NEEDS],
                    registered_model_name=self.name,
                )
        finally:
            mlflow.set_tracking_uri(None)
            if there:
                os.environ["MLFLOW_TRACKING_URI"] = there

    def end(self, status: str) -> None:
        """Set the status: FINISHED, FAILED or KILLED."""
        self._try(lambda: self.client.set_terminated(self.run_id, status))

    def _try(self, action: Callable[[], object]) -> None:
        if self.failures >= GIVE_UP_AFTER:
            return
        try:
            action()
            self.failures = 0
        except Exception as error:  # whatever a tracking server can do wrong, the work goes on
            self.failures += 1
            line = " ".join(str(error).split())[:200]
            last = "; going on without it" if self.failures >= GIVE_UP_AFTER else ""
            print(f"warning: MLflow: {line}{last}", file=sys.stderr)


def local_uri() -> str:
    """Where runs go if MLFLOW_TRACKING_URI says nothing else."""
    return f"sqlite:///{Path('mlflow.db').resolve()}"


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


def run_name(experiment: str) -> str:
    """What a person would call the run of an experiment."""
    row = parse_name(experiment)
    if row is None:
        return experiment
    name = row.row if row.row in ("base", "big") else f"row {row.row}"
    where = " at laptop size" if row.table == "table3-tiny" else ""
    return f"{name}{where}" + (f", seed {row.seed}" if row.seed > 1 else "")


def _flatten(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
