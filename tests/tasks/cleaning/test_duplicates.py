import random

import numpy as np

from tasks.cleaning import duplicates
from tasks.cleaning.duplicates import Seen


def test_the_first_of_each_value_is_told_from_the_later_ones_in_any_call(monkeypatch):
    monkeypatch.setattr(duplicates, "_LONGEST_RUN", 100)
    seen, known, draw = Seen(), set(), random.Random(1)
    for _ in range(200):
        values = [draw.randrange(1500) * 2**53 for _ in range(draw.randrange(30))]
        expected = []
        for value in values:
            expected.append(value not in known)
            known.add(value)
        assert seen.add(np.array(values, np.uint64)).tolist() == expected
    assert len(known) > 1200


def test_memory_is_eight_bytes_a_value_and_runs_stay_few():
    seen, draw = Seen(), np.random.default_rng(1)
    for _ in range(300):
        seen.add(draw.integers(2**63, size=1000, dtype=np.uint64))
    assert sum(run.nbytes for run in seen._runs) == 8 * 300_000
    assert len(seen._runs) < 12
