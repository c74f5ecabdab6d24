"""A training that is killed at random moments ends as one that never was."""

import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_killed_twenty_times_it_ends_with_the_same_weights_bit_for_bit() -> None:
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}: python -m tests.kill_at_random --kills 20 --seed {seed}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill_at_random", "--kills", "20", "--seed", str(seed)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    kills, in_a_save = (int(re.search(rf"{name}=(\d+)", done.stdout)[1]) for name in ("kills", "in_a_save"))  # type: ignore[index]
    assert kills >= 20
    assert in_a_save >= 1
