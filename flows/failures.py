"""Why something has not been made, or only from what there was before: a note for as long as it is so.

    reports/failures/score@tiny.json
    {"stage": "train@tiny", "error": "the line in which it said why", "date": "2026-01-31T12:00:00+00:00"}

There is one for each last stage (score@E, sweep@E, ...) that needs the one that failed: a broken sweep says nothing
against the scores. The stage `report` depends on this folder. `python -m tasks.score E`, called by hand, deletes the
scores' note as well.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from flows.errors import StageError

FOLDER = Path("reports/failures")


def note_failure(ends: dict[str, list[str]], error: StageError) -> None:
    """Write it down for all last stages that need the one that failed.

    Args:
        ends: last stages, each with all that it needs and itself.
        error: why a stage failed. One that was stopped on purpose changes nothing.
    """
    date = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"stage": error.stage, "error": error.cause, "date": date}, indent=2, allow_nan=False)
    for end, stages in ends.items():
        if error.stage in stages and not error.stopped:
            FOLDER.mkdir(parents=True, exist_ok=True)
            temporary = FOLDER.with_name(f".{end}.tmp")  # outside: DVC may be reading the folder
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(FOLDER / f"{end}.json")


def clear_failures(ends: dict[str, list[str]], done: set[str]) -> None:
    """Delete the notes that are true no more, as the stage that they name is up to date, or is none any longer.

    Args:
        ends: last stages, each with all that it needs and itself.
        done: those of all these that are up to date.
    """
    for end, stages in ends.items():
        path = FOLDER / f"{end}.json"
        with suppress(FileNotFoundError):  # there is none, or tasks.score deletes it now
            if json.loads(path.read_text(encoding="utf-8"))["stage"] not in set(stages) - done:
                path.unlink()
