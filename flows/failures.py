"""Why an experiment has no scores, or only old ones: reports/failures/E.json, for the reports, for as long as it is so.

    {"stage": "train@tiny", "error": "the line in which it said why", "date": "2026-01-31T12:00:00+00:00"}

The stage `report` depends on this folder. `python -m tasks.score E`, called by hand, deletes the file as well.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from flows.errors import StageError

FOLDER = Path("reports/failures")


def note_failures(needs: dict[str, list[str]], failed: dict[str, StageError], done: set[str]) -> None:
    """Write why experiments failed, and delete this of those that are done.

    Args:
        needs: of each experiment, all stages that its last ones need and these, in an order in which they can run.
        failed: the stages that failed.
        done: those that are up to date. What was stopped is neither, and changes nothing.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for experiment, stages in needs.items():
        path = FOLDER / f"{experiment}.json"
        errors = [failed[name] for name in stages if name in failed]
        if errors:
            date = datetime.now(UTC).isoformat(timespec="seconds")
            text = json.dumps({"stage": errors[0].stage, "error": errors[0].cause, "date": date}, indent=2)
            temporary = path.with_suffix(".tmp")
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(path)
        elif done.issuperset(stages):
            path.unlink(missing_ok=True)
