"""What the entries of an outbox do in MLflow. Its store is opened when the first one comes.

Runs go to MLFLOW_TRACKING_URI, or to mlflow.db in the project's folder. MLflow alone gives a run its id, and may be
away when a stage starts: so a run also has a key, made by the stage, which is a tag of it. An id that this store does
not know (of another store) is taken as such a key. The runs of Table 3's rows are children of one run for the whole
table, which is found by its tag `rows_of`.
"""

import logging
import os
import sqlite3
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

import transformer
from tasks.common.settings import Experiment, read_params
from tasks.common.table3_rows import TITLES
from tasks.tracking.outbox import Entry, Refused
from transformer.io.errors import InputError

PROJECT = "attention-is-all-you-need"
LONGEST_VALUE = 500  # characters of a parameter that every MLflow server takes
TRIES = 3  # of an entry, while the store takes others
SECONDS_LOCKED = 5.0  # for which another writer may hold the database; a write of MLflow takes milliseconds
SERVING_NEEDS = (
    "mlflow", "torch", "safetensors", "sentencepiece", "sacremoses", "pydantic", "filelock", "regex", "tqdm"
)  # fmt: skip
NOISY = ("mlflow", "sqlalchemy", "alembic", "urllib3")  # they log tracebacks of what is tried again here


class Store:
    """MLflow's store."""

    def __init__(self) -> None:
        self.uri = os.environ.get("MLFLOW_TRACKING_URI") or local_uri()
        self.ids: dict[str, str] = {}  # of the runs that have been found or made, by their keys
        self._lock = FileLock(Path("mlflow.db.lock").absolute(), blocking=False)
        self._client: Any = None

    def deliver(self, entry: Entry) -> None:
        """Do in MLflow what an entry says. Refused if only this entry fails, else what shows that the store is away.

        filelock.Timeout where another process is making the store's tables.
        """
        self._check_unlocked()
        run_id = self._run_id(entry)
        acts = {
            "start": self._start, "parameters": self._parameters, "metrics": self._metrics, "tags": self._tags,
            "artifact": self._artifact, "model": self._model, "end": self._end,
        }  # fmt: skip
        if (act := acts.get(entry["kind"])) is None:
            raise Refused(f"{entry['kind']}: another version's, not known here")
        for _ in range(TRIES):
            try:
                act(run_id, entry)
                return
            except Exception as error:
                why = error
                self._check_unlocked()
                try:
                    self._client.set_tag(run_id, "experiment", entry["experiment"])
                except Exception:  # nothing can be written; or the run has been deleted, and is to be found anew
                    self.ids.pop(entry["run"], None)
                    raise
        raise Refused(f"{entry['kind']}: {why}")

    def _check_unlocked(self) -> None:
        """sqlite3.OperationalError if the database is locked, for which MLflow itself would wait for minutes."""
        path = Path(self.uri.partition("///")[2].partition("?")[0])
        if self.uri.startswith("sqlite") and path.exists():
            with closing(sqlite3.connect(path, timeout=SECONDS_LOCKED, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")

    def _run_id(self, entry: Entry) -> str:
        key = entry["run"]
        if key not in self.ids:
            load()
            # Several processes that find an empty database all try to make its tables, and fail: one at a time.
            with self._lock:
                self._open()
                self.ids[key] = self._find(key, entry)
        return self.ids[key]

    def _open(self) -> None:
        if self._client:
            return
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self.uri)
        known = client.get_experiment_by_name(PROJECT)
        if known is None:
            try:
                client.create_experiment(PROJECT)
            except MlflowException:
                if not client.get_experiment_by_name(PROJECT):  # another machine was not quicker
                    raise
            known = client.get_experiment_by_name(PROJECT)
        self._project = known.experiment_id
        self._client = client

    def _find(self, key: str, entry: Entry) -> str:
        """The id of the run with this id or key; it is made if there is none, or none that has not been deleted."""
        from mlflow.entities import RunTag
        from mlflow.exceptions import MlflowException

        run_id = None
        try:
            there = self._client.get_run(key)
            run_id = key if there.info.lifecycle_stage == "active" else None
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
        if run_id is None:
            made = self._client.search_runs([self._project], f"tags.key = '{key}'", max_results=1)
            if not made:
                tags, name = {"key": key}, run_name(entry["experiment"])
                made = [self._client.create_run(self._project, entry["time"], tags, name)]
            run_id = made[0].info.run_id
        tags = self._place(entry["experiment"])
        self._client.log_batch(run_id, tags=[RunTag(*item) for item in tags.items()])
        return str(run_id)

    def _place(self, experiment: str) -> dict[str, str]:
        """The tags by which a run is found and grouped. A table has one run, made by whichever row comes first."""
        from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

        tags = {"experiment": experiment}
        settings = _settings(experiment)
        if not settings or not settings.table or not settings.row:
            return tags
        there = self._client.search_runs([self._project], f"tags.rows_of = '{settings.table}'", max_results=1)
        title, table = TITLES[settings.table], there[0] if there else self._table(settings.table)
        return {**tags, "table": title, "row": settings.row, MLFLOW_PARENT_RUN_ID: table.info.run_id}

    def _table(self, table: str) -> Any:
        run = self._client.create_run(self._project, run_name=TITLES[table], tags={"rows_of": table})
        self._client.set_terminated(run.info.run_id)  # it has nothing to do itself
        return run

    def _start(self, run_id: str, entry: Entry) -> None:
        self._client.update_run(run_id, status="RUNNING")

    def _parameters(self, run_id: str, entry: Entry) -> None:
        """MLflow lets none change: a new value becomes a tag."""
        from mlflow.entities import Param, RunTag

        there = self._client.get_run(run_id).data.params
        values = {key: value[:LONGEST_VALUE] for key, value in entry["values"].items()}
        new = [Param(*item) for item in values.items() if item[0] not in there]
        changed = {key: value for key, value in values.items() if there.get(key, value) != value}
        tags = [RunTag(f"changed.{key}", value) for key, value in changed.items()]
        self._client.log_batch(run_id, params=new, tags=tags)

    def _metrics(self, run_id: str, entry: Entry) -> None:
        """With the time of their logging, by which MLflow's database knows those that it has already."""
        from mlflow.entities import Metric

        time, update = entry["time"], entry["update"]
        metrics = [Metric(key, float(value), time, update) for key, value in entry["values"].items()]
        self._client.log_batch(run_id, metrics=metrics)

    def _tags(self, run_id: str, entry: Entry) -> None:
        for key, value in entry["values"].items():
            self._client.set_tag(run_id, key, value)

    def _artifact(self, run_id: str, entry: Entry) -> None:
        self._client.log_artifact(run_id, str(_as_logged(entry)))

    def _model(self, run_id: str, entry: Entry) -> None:
        """Register a model folder as the next version of the model with the experiment's name, to be served."""
        import mlflow

        folder = _as_logged(entry)
        there = os.environ.get("MLFLOW_TRACKING_URI")
        mlflow.set_tracking_uri(self.uri)  # also sets the variable, which belongs to the caller
        try:
            with mlflow.start_run(run_id=run_id):
                mlflow.pyfunc.log_model(
                    name="translator",
                    python_model=str(Path(__file__).with_name("served_model.py")),
                    artifacts={"model": str(folder.resolve())},
                    code_paths=[str(Path(transformer.__file__).parent)],
                    # Named here, or MLflow finds them out by loading the model in another process.
                    pip_requirements=[f"{name}=={version(name).partition('+')[0]}" for name in SERVING_NEEDS],
                    registered_model_name=entry["experiment"],
                )
        finally:
            mlflow.set_tracking_uri(None)
            if there:
                os.environ["MLFLOW_TRACKING_URI"] = there

    def _end(self, run_id: str, entry: Entry) -> None:
        self._client.set_terminated(run_id, entry["status"], entry["time"])


def load() -> None:
    """Import MLflow, with settings by which it fails in seconds and quietly: what fails is tried again here."""
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", str(sys.stderr.isatty()))
    import mlflow.tracking  # noqa: F401

    for name in NOISY:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def local_uri() -> str:
    """Where runs go if MLFLOW_TRACKING_URI says nothing else."""
    return f"sqlite:///{Path('mlflow.db').resolve()}"


def run_name(experiment: str) -> str:
    """What a person would call the run of an experiment."""
    settings = _settings(experiment)
    if not settings or not settings.table:
        return experiment
    name = settings.row if settings.row in ("base", "big") else f"row {settings.row}"
    where = " at laptop size" if settings.table == "table3-tiny" else ""
    return f"{name}{where}" + (f", seed {settings.seed}" if settings.seed > 1 else "")


def _settings(experiment: str) -> Experiment | None:
    """What params.yaml says of it; None if it is not there any more."""
    try:
        return read_params().experiments.get(experiment)
    except InputError:
        return None


def _as_logged(entry: Entry) -> Path:
    """The path of an artifact. FileNotFoundError or ValueError if what lies there is no longer what was logged."""
    path = Path(entry["path"])
    if path.stat().st_mtime_ns != entry["written"]:
        raise ValueError(f"{path} has been written anew since")
    return path
