"""What `python -m tests.faults` does at length, done to the first stage."""

import secrets
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT, run
from transformer.io.files import read_json

PARTS = ("kills", "at_once", "places", "flips")


@pytest.mark.slow
def test_whatever_is_done_to_it_the_first_stage_ends_with_the_same_or_in_a_line(tmp_path: Path) -> None:
    seed, page = str(secrets.randbelow(10**6)), tmp_path / "faults.md"
    command = [sys.executable, "-m", "tests.faults", "--only", *PARTS, "--kills=2", f"--seed={seed}"]
    print("python", *command[1:])
    done = run(*command, "--until=corpus@made-up", f"--folder={tmp_path}", f"--out={page}", cwd=ROOT)
    assert done.returncode == 0, done.stderr + page.read_text()
    found = {name: read_json(tmp_path / f"{name}.json") for name in PARTS}
    assert [part["complete"] for part in found.values()] == [True] * len(PARTS)
    assert found["kills"]["facts"]["kills"] == len(found["kills"]["rows"]) == 2
    assert [len(found[name]["rows"]) for name in PARTS[1:]] >= [1, 1, 2]
    assert page.read_text().startswith("# Faults")
