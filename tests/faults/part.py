"""What one part of the faults found, kept as JSON while it goes on and shown in the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.common.machine import commit, describe
from tests.faults.pipeline import processors
from transformer.io.errors import InputError
from transformer.io.files import read_json, write_json

Row = list[Any]


@dataclass
class Part:
    """One part: what was done in a few words, what came of it, and what should not have."""

    name: str
    title: str
    commit: str = ""
    date: str = ""
    machine: str = ""
    done: str = ""
    facts: dict[str, int] = field(default_factory=dict)
    head: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    more: list[Row] = field(default_factory=list)  # a second table, below `more_head`
    more_head: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    complete: bool = False

    @classmethod
    def read(cls, folder: Path, name: str, title: str) -> Part:
        """What was found before in `folder`, to go on with; InputError if other code found it."""
        path = folder / f"{name}.json"
        if path.exists():
            part = cls(**read_json(path))
            if part.commit != commit():
                raise InputError(f"{path}: of commit {part.commit}; delete it to begin anew")
            return part
        machine = f"{describe(devices=1)['device']}, {processors()}"
        return cls(name, title, commit(), datetime.now(UTC).isoformat(timespec="minutes"), machine)

    def write(self, folder: Path) -> None:
        """Keep what was found up to now."""
        write_json(folder / f"{self.name}.json", asdict(self))

    def count(self, fact: str) -> None:
        """One more of it."""
        self.facts[fact] = self.facts.get(fact, 0) + 1
