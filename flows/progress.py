"""What a stage says of how far it is, as a progress artifact of its task.

A stage finds the name of a file in REPRODUCE_PROGRESS and may write {"fraction": 0.53, "text": "one line"} to it,
whole, as often as it likes.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect.artifacts import create_progress_artifact, update_progress_artifact

VARIABLE = "REPRODUCE_PROGRESS"
SECONDS_BETWEEN = 10.0
GIVE_UP_AFTER = 3  # failures


class Progress:
    """The artifact of one stage; made when the stage first writes to `file`."""

    def __init__(self, stage: str, file: Path) -> None:
        self.key, self.file = artifact_key(stage), file
        self.artifact: Any = None  # its id
        self.looked = float("-inf")
        self.shown = ""
        self.failures = 0

    def look(self) -> None:
        """Bring the artifact up to date; at most every ten seconds. A server that fails is soon left alone."""
        if time.monotonic() - self.looked < SECONDS_BETWEEN or self.failures >= GIVE_UP_AFTER:
            return
        self.looked = time.monotonic()
        try:
            content = self.file.read_text(encoding="utf-8")
            if content == self.shown:
                return
            said = json.loads(content)
            percent = 100 * float(said["fraction"])
            if self.artifact is None:
                self.artifact = create_progress_artifact(percent, key=self.key, description=said["text"])
            else:
                update_progress_artifact(self.artifact, percent, description=said["text"])
            self.shown = content
        except FileNotFoundError:  # most stages say nothing
            return
        except Exception:  # whatever a server or a stage does wrong here, the work goes on
            self.failures += 1


@contextmanager
def watched(stage: str) -> Iterator[Progress]:
    """A stage's progress for as long as it runs, and a last look when it has ended."""
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        progress = Progress(stage, Path(folder) / "progress.json")
        try:
            yield progress
        finally:
            progress.looked = float("-inf")
            progress.look()


def artifact_key(name: str) -> str:
    """The name in the letters that Prefect allows."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
