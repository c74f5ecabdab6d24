"""A training that is killed at random moments ends as one that never was."""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspace import ROOT
from transformer.io.files import read_json


@pytest.mark.slow
def test_killed_twenty_times_it_ends_with_the_same_weights_bit_for_bit(tmp_path: Path) -> None:
    seed = str(secrets.randbelow(10**6))
    command = ["-m", "tests.faults", "--only", "trainings", "--kills", "20", "--seed", seed]
    print("python", *command)
    done = subprocess.run(
        [sys.executable, *command, f"--folder={tmp_path}", f"--out={tmp_path / 'faults.md'}"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    facts = read_json(tmp_path / "trainings.json")["facts"]
    assert facts["kills"] >= 20
    assert facts["in a save"] >= 1
