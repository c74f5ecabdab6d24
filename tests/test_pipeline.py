"""The whole chain on a few hundred made-up pairs: through the flow, and through DVC with a kill in its training."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from mlflow.tracking import MlflowClient

from tests.workspace import (
    PRESETS,
    corpus_settings,
    environment,
    experiment_settings,
    make_workspace,
    run,
    write_corpus,
)


def made_up(folder: Path) -> Path:
    write_corpus(folder / "text")
    params = {
        "corpora": {"made-up": corpus_settings(folder / "text")},
        "presets": PRESETS,
        "max_restarts": 1,
        "experiments": {"small": experiment_settings("made-up"), "unrun": experiment_settings("made-up")},
        "sweeps": {
            "small": {"corpus": "made-up", "preset": "test", "last": [1, 3], "beams": [1, 4], "length_penalties": [0.6]}
        },
        "attention": {"small": {"sentence": "the red cat sees the dog", "far": "cat", "pronoun": "sees"}},
    }
    return make_workspace(folder / "project", params)


@pytest.fixture(scope="module")
def by_flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which the flow has reproduced `small`."""
    project = made_up(tmp_path_factory.mktemp("flow"))
    done = run("python", "-m", "flows.reproduce", "small", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def kill_in_training(project: Path) -> None:
    """Start `dvc repro`, and end all its processes without warning once a checkpoint is there."""
    job = subprocess.Popen(
        ["dvc", "repro", "score@small"], cwd=project, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while not list(project.glob("runs/small/state/checkpoint-*/progress.json")):
        assert time.monotonic() < deadline, "no checkpoint after four minutes"
        assert job.poll() is None, "dvc repro ended before its first checkpoint"
        time.sleep(0.05)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


@pytest.fixture(scope="module")
def by_dvc(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A workspace in which `dvc repro` was killed in training and called again, and what the second call printed."""
    project = made_up(tmp_path_factory.mktemp("dvc"))
    assert run("python", "-m", "tasks.check", "small", cwd=project).returncode == 0
    kill_in_training(project)
    (project / "reports/failures/score@small.json").write_text("{}")  # as the flow would note it
    done = run("dvc", "repro", "score@small", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    return project, done.stdout + done.stderr


def test_the_flow_ends_with_a_table_of_what_was_measured(by_flow: Path) -> None:
    table = (by_flow / "reports/table2.md").read_text()
    assert "| Transformer (big) | 28.4 | 41.8 | 2.3e19 | 2.3e19 |" in table
    row = next(line for line in table.splitlines() if line.startswith("| small |"))
    assert "made-up en-xx" in row
    assert re.search(r"\*\*\d+\.\d\d\*\*", row)
    assert "| unrun | test | made-up en-xx | not run |" in table


def test_the_model_has_learned_the_language(by_flow: Path) -> None:
    scores = json.loads((by_flow / "reports/scores/small.json").read_text())["scores"]["test"]
    assert scores["bleu"]["score"] > 50
    assert scores["bleu_of_copied_source"]["score"] < 10
    assert "tok:13a" in scores["bleu"]["signature"]


def test_the_model_folder_translates_line_for_line_on_its_own(by_flow: Path) -> None:
    lines = "the red cat sees the dog\n\nthe old bird likes the fish\u2028the end\n"
    done = subprocess.run(
        ["python", "-m", "transformer", "models/small"],
        cwd=by_flow, env=environment(), input=lines.encode(), capture_output=True, check=True,
    )  # fmt: skip
    first, empty, third, rest = done.stdout.decode().split("\n")
    assert first
    assert empty == rest == ""
    assert third
    longest = json.loads((by_flow / "models/small/config.json").read_text())["longest_source"]
    assert 6 <= longest <= 32  # sentences of six words; shards.max_length is 32


@pytest.mark.fault("F38")
@pytest.mark.fault("F39")
def test_mlflow_has_one_finished_run_with_settings_curve_and_scores(by_flow: Path) -> None:
    client = MlflowClient(f"sqlite:///{by_flow}/mlflow.db")
    experiment = client.get_experiment_by_name("attention-is-all-you-need")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["model.d_model"] == "32"
    assert found.data.tags["commit"]
    steps = [point.step for point in client.get_metric_history(found.info.run_id, "perplexity")]
    assert steps == sorted(set(steps))
    assert steps[-1] == 240
    assert found.data.metrics["test_bleu"] > 50
    stored = json.loads((by_flow / "reports/scores/small.json").read_text())["training"]["mlflow_run"]
    assert stored == found.info.run_id
    assert {"small.md", "small.png"} <= {artifact.path for artifact in client.list_artifacts(stored)}
    assert [version.run_id for version in client.search_model_versions("name = 'small'")] == [stored]


def test_the_training_said_where_it_stood(by_flow: Path) -> None:
    """In its own file, in MLflow, and as an artifact of the flow's server; and the totals are kept with the weights."""
    status = json.loads((by_flow / "runs/small/progress.json").read_text())
    assert (status["experiment"], status["update"], status["fraction"]) == ("small", 240, 1.0)
    assert 1 < status["valid_perplexity"] < 50
    assert status["text"].startswith("update 240 of 240: loss ")
    training = json.loads((by_flow / "runs/small/weights/training.json").read_text())
    assert 0 < training["padding_share"] < 0.3
    assert 0 <= training["data_wait_share"] < 0.5
    assert 5e7 < training["peak_memory_bytes"] < 5e9
    client = MlflowClient(f"sqlite:///{by_flow}/mlflow.db")
    for name in ("padding_share", "data_wait_share", "peak_memory_bytes", "tokens_per_second", "seconds_left"):
        steps = [point.step for point in client.get_metric_history(training["mlflow_run"], name)]
        assert (steps, steps[-1]) == (sorted(set(steps)), 240)
    with closing(sqlite3.connect(by_flow / ".prefect/prefect.db")) as database:
        artifacts = database.execute("SELECT key, data FROM artifact WHERE type = 'progress'").fetchall()
    assert [(key, float(percent)) for key, percent in artifacts] == [("train-small", 100.0)]


def test_killed_and_resumed_training_ends_with_the_same_model_bit_for_bit(
    by_flow: Path, by_dvc: tuple[Path, str]
) -> None:
    project, output = by_dvc
    assert "continuing after update" in output
    weights = "models/small/model.safetensors"
    assert (project / weights).read_bytes() == (by_flow / weights).read_bytes()


def test_a_second_repro_does_nothing(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    done = run("dvc", "repro", "score@small", cwd=project)
    assert done.returncode == 0
    assert "Running stage" not in done.stdout
    assert "Data and pipelines are up to date" in done.stdout


def test_repro_built_nothing_that_was_not_asked_for(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    assert [path.name for path in (project / "runs").iterdir()] == ["small"]
    assert not (project / "reports/table2.md").exists()


def test_what_is_scored_has_failed_no_more(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    assert not list((project / "reports/failures").iterdir())


def test_report_alone_writes_the_tables_from_whatever_scores_exist(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    done = run("dvc", "repro", "--single-item", "report", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "| small |" in (project / "reports/table2.md").read_text()
    assert (project / "reports/figures/learning_curves.png").stat().st_size > 1000


def changed_stages(project: Path) -> dict[str, str]:
    """What `dvc status` says of each stage that has run and is out of date."""
    done = run("dvc", "status", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    have_run = yaml.safe_load((project / "dvc.lock").read_text())["stages"]
    return {name: str(why) for name, why in json.loads(done.stdout).items() if name in have_run}


def test_a_changed_template_reruns_only_the_report(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    done = run("dvc", "repro", "--single-item", "report", cwd=project)
    assert done.returncode == 0, done.stderr
    template = project / "tasks/pages/table2.py"
    before = template.read_text()
    template.write_text(before.replace('"Measured here"', '"What was measured here"'))
    try:
        assert list(changed_stages(project)) == ["report"]
    finally:
        template.write_text(before)


def test_a_page_changed_by_hand_is_noticed_and_written_anew(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    run("dvc", "repro", "--single-item", "report", cwd=project)
    page = project / "reports/table2.md"
    before = page.read_text()
    page.write_text(before.replace("| small |", "| the best |"))
    assert "reports/table2.md" in changed_stages(project)["report"]
    done = run("dvc", "repro", "--single-item", "report", cwd=project)
    assert done.returncode == 0, done.stderr
    assert page.read_text() == before


def test_sweep_and_attention_are_stages_that_the_report_draws(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    for stages in (["sweep@small", "attention@small"], ["report"]):
        done = run("dvc", "repro", "--single-item", *stages, cwd=project)
        assert done.returncode == 0, done.stderr
    sweep = json.loads((project / "reports/sweeps/small.json").read_text())
    score = json.loads((project / "reports/scores/small.json").read_text())
    own = next(point for point in sweep["search"] if point["beam"] == 4)
    assert own["bleu"] == score["scores"]["valid"]["bleu"]["score"]
    assert own["perplexity"] == score["splits"]["valid"]["perplexity"]["per_subword"]
    assert ">cat<" in (project / "reports/figures/attention_far.svg").read_text()


def test_dvc_shows_metrics_params_and_curves(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    assert run("dvc", "repro", "--single-item", "report", cwd=project).returncode == 0
    shown = run("dvc", "metrics", "show", cwd=project)
    header, *rows = shown.stdout.splitlines()
    assert header.split()[:2] == ["Path", "bleu"]
    assert [row.split()[0] for row in rows] == ["reports/metrics/small.json"]
    shown = run("dvc", "plots", "show", "--json", cwd=project)
    assert shown.returncode == 0, shown.stderr
    (curves,) = json.loads(shown.stdout)["data"]["reports/curves.csv"]
    assert {point["experiment"] for point in curves["content"]["data"]["values"]} == {"small"}
    assert curves["content"]["encoding"]["color"]["field"] == "experiment"
    params = project / "params.yaml"
    before = params.read_text()
    params.write_text(before.replace("length_penalty: 0.6", "length_penalty: 0.7", 1))
    try:
        shown = run("dvc", "params", "diff", cwd=project)
    finally:
        params.write_text(before)
    assert re.search(r"presets.test.search.length_penalty +0.6 +0.7", shown.stdout)


def test_other_settings_set_the_old_state_aside(by_dvc: tuple[Path, str]) -> None:
    project, _ = by_dvc
    params = project / "params.yaml"
    before = params.read_text()
    params.write_text(before.replace("warmup: 100", "warmup: 90"))
    try:
        done = run("torchrun", "-m", "tasks.train", "small", cwd=project)
    finally:
        params.write_text(before)
    assert done.returncode == 0, done.stderr
    assert "training.warmup changed" in done.stderr
    (old,) = project.glob("runs/small/old-*")
    assert list(old.glob("checkpoint-*"))


@pytest.mark.parametrize(
    ("path", "reader"),
    [
        ("data/corpora/made-up/train.xx", "subwords made-up"),
        ("data/corpora/made-up/train.en", "shards made-up"),
        ("outputs/small/test.xx", "score small"),
        ("reports/scores/small.json", "report"),
    ],
)
def test_a_flipped_byte_is_named_by_the_next_that_reads_it(by_dvc: tuple[Path, str], path: str, reader: str) -> None:
    project, _ = by_dvc
    file = project / path
    before = file.read_bytes()
    place = before.index(b"1" if file.suffix == ".json" else b"a", 100)
    file.write_bytes(before[:place] + bytes([before[place] ^ 2]) + before[place + 1 :])
    try:
        done = run("python", "-m", *f"tasks.{reader}".split(), cwd=project)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert done.stderr.splitlines()[-1].startswith(f"error: {path}: ")
    finally:
        file.write_bytes(before)
