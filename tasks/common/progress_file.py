"""Where a stage stands, for whoever watches it.

Whatever starts a stage may name a file in REPRODUCE_PROGRESS: {"fraction": 0.53, "text": "one line", ...}, which is
written again every few seconds, whole.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from transformer.io.files import write_json

VARIABLE = "REPRODUCE_PROGRESS"


def tell(status: dict[str, Any], path: Path) -> None:
    """Write the status to `path` and to the file that was asked for; nothing happens if that fails."""
    asked = os.environ.get(VARIABLE)
    for one in [path, *([Path(asked)] if asked else [])]:
        with suppress(OSError):  # what only shows the work must not end it
            write_json(one, status)
