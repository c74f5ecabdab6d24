"""What a training checks before it starts, each in one line and exit code 2."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from filelock import FileLock
from mlflow.tracking import MlflowClient

from tasks import train
from tasks.common.settings import read_experiment
from tests.workspace import PRESETS, ROOT, corpus_settings, environment, experiment_settings, write_corpus
from transformer.io.errors import InputError
from transformer.io.files import read_json, sha256
from transformer.text.wordpieces import WordPieces

PYTHONPATH = str(ROOT)


def command(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder, env=environment(PYTHONPATH=PYTHONPATH), capture_output=True, text=True, timeout=240,
    )  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with shards of the made-up language."""
    folder = tmp_path_factory.mktemp("prepared")
    write_corpus(folder / "text")
    params = {
        "corpora": {"c": corpus_settings(folder / "text")},
        "presets": PRESETS,
        "max_restarts": 1,
        "experiments": {"e": experiment_settings("c")},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    for stage in ("corpus", "subwords", "shards"):
        done = command(folder, f"tasks.{stage}", "c")
        assert done.returncode == 0, done.stderr
    return folder


def assert_refused(folder: Path, message: str) -> None:
    done = command(folder, "tasks.train", "--check", "e")
    assert done.returncode == 2
    *progress, last = done.stderr.splitlines()
    assert last.startswith("error: ")
    assert message in last
    assert all(line.startswith("unpacking ") for line in progress)


def test_what_is_whole_can_start(prepared: Path) -> None:
    assert command(prepared, "tasks.train", "--check", "e").returncode == 0


@pytest.mark.fault("F18")
def test_a_damaged_shard_is_named(prepared: Path) -> None:
    shard = next((prepared / "data/shards/c/train").rglob("*.parquet"))
    content = shard.read_bytes()
    shard.write_bytes(content[:-10])
    shutil.rmtree(prepared / "data/unpacked", ignore_errors=True)  # what is unpacked was checked then
    try:
        assert_refused(prepared, str(shard.relative_to(prepared)))
        assert not list((prepared / "data/unpacked").glob("*/"))
    finally:
        shard.write_bytes(content)


@pytest.mark.fault("F13")
def test_shards_of_another_sub_word_model_are_refused(prepared: Path) -> None:
    manifest = prepared / "data/shards/c/manifest.json"
    content = manifest.read_text()
    manifest.write_text(content.replace('"subwords_sha256": "', '"subwords_sha256": "0'))
    try:
        assert_refused(prepared, "another sub-word model")
    finally:
        manifest.write_text(content)


def test_bpe_dropout_of_word_pieces_is_refused(prepared: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(prepared, tmp_path / "copy")
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["experiments"]["e"]["changes"]["bpe_dropout"] = 0.1
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    assert command(folder, "tasks.train", "--check", "e").returncode == 0
    pieces, manifest = folder / "data/subwords/c/subwords.model", folder / "data/shards/c/manifest.json"
    before = sha256(pieces)
    pieces.write_bytes(WordPieces(["<pad>", "<unk>", "<s>", "</s>", "\u2581"]).dump())
    manifest.write_text(manifest.read_text().replace(before, sha256(pieces)))
    assert_refused(folder, "experiments.e: bpe_dropout needs sub-words of kind bpe")


def test_a_run_that_is_being_trained_is_left_alone(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (prepared / "runs/e").mkdir(parents=True, exist_ok=True)
    with FileLock(prepared / "runs/e/training.lock"):
        monkeypatch.setattr(train, "SECONDS_TO_WAIT", 0.1)
        with pytest.raises(InputError, match="another process is training it"), train.only_one(prepared / "runs/e"):
            pass


@pytest.mark.slow
@pytest.mark.fault("F33")
@pytest.mark.fault("F38")
def test_a_training_does_not_wait_for_a_locked_database_and_the_next_stage_brings_its_curve(
    prepared: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(prepared, tmp_path / "copy")
    params = yaml.safe_load((folder / "params.yaml").read_text())
    params["experiments"]["e"] = experiment_settings("c", updates=60)
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    client.search_experiments()  # makes the tables
    with closing(sqlite3.connect(folder / "mlflow.db", isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")  # until the training has ended
        done = command(folder, "tasks.train", "e")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: MLflow: ") == 1
    assert "Traceback" not in done.stderr
    training = read_json(folder / "runs/e/weights/training.json")
    assert command(folder, "tasks.average", "e").returncode == 0
    project = client.get_experiment_by_name("attention-is-all-you-need")
    (run,) = client.search_runs([project.experiment_id])
    assert (run.info.status, run.data.tags["key"]) == ("FINISHED", training["mlflow_run"])
    assert run.data.params["averaging.last"] == "2"
    history = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "loss")]
    assert history == [(point["update"], point["loss"]) for point in training["curve"]]
    assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["training.json"]


def test_settings_changed_back_bring_the_old_state_back(tmp_path: Path) -> None:
    first, second = {"model": {"layers": 1}}, {"model": {"layers": 2}}
    train.set_aside_other(tmp_path, first)
    (tmp_path / "state/checkpoint-1").mkdir()
    train.set_aside_other(tmp_path, second)
    assert not (tmp_path / "state/checkpoint-1").exists()
    train.set_aside_other(tmp_path, first)
    assert (tmp_path / "state/checkpoint-1").exists()
    assert len(list(tmp_path.glob("old-*"))) == 1


def test_a_state_of_unknown_settings_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "state/checkpoint-1").mkdir(parents=True)
    train.set_aside_other(tmp_path, {"model": {"layers": 1}})
    assert not (tmp_path / "state/checkpoint-1").exists()
    assert next(tmp_path.glob("old-*/checkpoint-1"))


def test_what_only_divides_the_work_does_not_start_a_training_anew() -> None:
    settings = read_experiment("tiny", *train.SECTIONS, path=ROOT / "params.yaml")
    inputs = train.Inputs(None, None, None, {}, {"shards": "a"})  # type: ignore[arg-type]
    smaller = settings.training.model_copy(update={"tokens_per_device": 100})
    assert train.fingerprint(settings, inputs) == train.fingerprint(
        SimpleNamespace(model=settings.model, training=smaller), inputs
    )


def test_a_training_without_bpe_dropout_is_what_it_was_before_there_was_that_setting() -> None:
    settings = read_experiment("tiny", *train.SECTIONS, path=ROOT / "params.yaml")
    inputs = train.Inputs(None, None, None, {}, {"shards": "a"})  # type: ignore[arg-type]
    dropped = settings.training.model_copy(update={"bpe_dropout": 0.1})
    plain, other = (
        train.fingerprint(SimpleNamespace(model=settings.model, training=training), inputs)["training"]
        for training in (settings.training, dropped)
    )
    assert "bpe_dropout" not in plain
    assert other == {**plain, "bpe_dropout": 0.1}


def test_checking_needs_no_torch(prepared: Path) -> None:
    """It stands before each start of a training: it must be quick."""
    script = (
        "import sys, tasks.train; sys.argv = ['', '--check', 'e']; tasks.train.main(); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=prepared, env=environment(PYTHONPATH=PYTHONPATH), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.stdout.strip() == "False", done.stderr


def test_the_doctor_measures_and_names_what_is_lacking(prepared: Path) -> None:
    done = command(prepared, "tasks.doctor", "e")
    assert done.returncode in (0, 1), done.stderr
    assert "tokens/s" in done.stdout
    assert "ok    data" in done.stdout
    assert command(prepared, "tasks.doctor", "ee").returncode == 2
