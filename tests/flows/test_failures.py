import json
from pathlib import Path

import pytest

from flows.errors import StageError
from flows.failures import clear_failures, note_failure

ENDS = {
    "score@one": ["corpus@c", "train@one", "score@one"],
    "sweep@one": ["corpus@c", "train@one", "sweep@one"],
    "score@two": ["corpus@c", "train@two", "score@two"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports/failures"


def told(folder: Path) -> dict[str, tuple[str, str]]:
    notes = {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
    return {name: (note["stage"], note["error"]) for name, note in notes.items()}


def fail(stage: str, stopped: bool = False) -> None:
    note_failure(ENDS, StageError(stage, 1, ["a line", f"error: {stage} is broken", "another"], stopped))


def test_all_that_needed_a_failed_stage_say_so_and_nothing_else(folder: Path) -> None:
    fail("corpus@c")
    assert told(folder) == dict.fromkeys(ENDS, ("corpus@c", "corpus@c is broken"))
    fail("sweep@one")
    assert {name for name, (stage, _) in told(folder).items() if stage == "sweep@one"} == {"sweep@one"}


def test_it_is_said_until_the_stage_that_failed_is_up_to_date(folder: Path) -> None:
    fail("train@one")
    fail("train@two")
    clear_failures(ENDS, {"corpus@c", "train@two"})
    assert told(folder) == dict.fromkeys(["score@one", "sweep@one"], ("train@one", "train@one is broken"))
    clear_failures({end: ["fit@one", end] for end in ENDS}, set())  # the stage has another name now
    assert told(folder) == {}


def test_what_was_stopped_changes_nothing(folder: Path) -> None:
    fail("train@two")
    before = told(folder)
    fail("corpus@c", stopped=True)
    assert told(folder) == before
