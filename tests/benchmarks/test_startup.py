"""The measurement of start-up runs; what it measures is nobody's assertion."""

import pytest

from benchmarks import startup
from tests.workspace import ROOT


def test_a_small_corpus_is_measured_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # for params.yaml
    rows = startup.measure(2000)
    assert [row["pairs"] for row in rows] == [2000, 2000]
    assert all(row["seconds"] > 0 and row["peak"] > 2**20 for row in rows)
    lines = [line for line in startup.report(rows).splitlines() if line.startswith("| 2,000 | ")]
    for row, line in zip(rows, lines, strict=True):
        assert f"| {row['what']} | {row['seconds']:.1f} | {row['peak'] / 2**30:.2f} |" in line
