import json
from pathlib import Path

import pytest

from flows.errors import StageError
from flows.failures import note_failures

NEEDS = {"one": ["corpus@c", "train@one", "score@one"], "two": ["corpus@c", "train@two", "score@two"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports/failures"


def told(folder: Path) -> dict[str, tuple[str, str]]:
    notes = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    return {name: (note["stage"], note["error"]) for name, note in notes.items()}


def failed(stage: str) -> dict[str, StageError]:
    return {stage: StageError(stage, 1, ["a line", f"error: {stage} is broken", "another"])}


def test_all_experiments_that_needed_a_failed_stage_say_so(folder: Path) -> None:
    note_failures(NEEDS, failed("score@one") | failed("corpus@c"), set())
    assert told(folder) == dict.fromkeys(NEEDS, ("corpus@c", "corpus@c is broken"))


def test_it_is_said_until_the_experiment_is_done(folder: Path) -> None:
    note_failures(NEEDS, failed("corpus@c"), set())
    note_failures(NEEDS, failed("train@two"), {"corpus@c", "train@one", "score@one"})
    assert told(folder) == {"two": ("train@two", "train@two is broken")}


def test_what_was_stopped_changes_nothing(folder: Path) -> None:
    note_failures(NEEDS, failed("train@two"), set(NEEDS["one"]))
    note_failures(NEEDS, {}, {"corpus@c", "train@one"})
    assert told(folder) == {"two": ("train@two", "train@two is broken")}
