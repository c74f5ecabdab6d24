"""The comparison with other toolkits: its tables, and two contenders run end to end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import environments, page, streams, train, train_report
from benchmarks.contenders.job import LEAST_STEPS, WARM_UP_STEPS, Finished, Stopwatch
from transformer.io.files import read_json

SMALL = {"layers": 1, "d_model": 32, "d_ff": 64, "heads": 2}


def run(contender: str, rate: float, number: int = 1, **others: Any) -> dict[str, Any]:
    facts = {"toolkit": contender.upper(), "source_padding": 0.1, "target_padding": 0.02, "peak_mb": 900.0, "load": 0.0}
    same = {"round": number, "contender": contender, "size": "tiny", "precision": "fp32"}
    return {**same, **facts, "tokens_per_second": rate, **others}


def results(*runs: dict[str, Any]) -> dict[str, Any]:
    limit = {"round": 1, "contender": "limit", "size": "tiny", "precision": "fp32", "load": 50.0}
    return {
        "date": "2026-01-01", "commit": "abc", "device": "a processor", "cores": 2, "python": "3.11", "torch": "2.13",
        "corpus": "sentences", "seconds": 1.0, "same_for_all": {"tokens": 4096, "dropout": 0.1, "label_smoothing": 0.1},
        "contenders": ["ours", "plain_torch", "marian"], "flops_per_token": {"tiny": 1e6},
        "runs": [{**limit, "flops_per_second": 20e9}, *runs],
    }  # fmt: skip


def test_a_row_is_the_median_of_its_rounds_beside_the_best_of_the_others() -> None:
    ours = [run("ours", rate, number) for number, rate in enumerate([9000.0, 12000.0, 10000.0], start=1)]
    text = train_report.tables(results(*ours, run("plain_torch", 5000.0), run("marian", 4000.0)))
    assert "| OURS | 10,000 | 9,000 to 12,000 | 2.00 | 50 % | 10.0 / 2.0 | 900 |" in text
    assert "| MARIAN | 4,000 | 4,000 to 4,000 | 0.80 | 20 % |" in text
    assert "20,000 tokens/s" in text  # the limit in the same units


def test_what_did_not_run_is_a_row_that_says_why() -> None:
    failed = {"round": 1, "contender": "marian", "size": "tiny", "precision": "fp32", "load": 0.0}
    measured = results(run("ours", 9000.0), {**failed, "error": "not installed: no such release"})
    text = train_report.report(measured, "## What was tried\n\nNothing yet.\n")
    assert "| marian | | not installed: no such release |" in text
    assert "| plain_torch | | not run |" in text
    assert text.endswith("Nothing yet.\n")
    assert train.failed_before(measured["runs"], {**failed, "round": 2})
    assert not train.failed_before(measured["runs"], run("ours", 9000.0, 2))


def test_a_toolkit_that_does_not_install_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path / "environments")
    monkeypatch.setattr(environments, "CONTENDERS", tmp_path)
    (tmp_path / "other.txt").write_text(f"{tmp_path}/no-such.whl\n")
    with pytest.raises(environments.NotInstalled, match=r"no-such\.whl"):
        environments.python_for("other")


def test_every_contender_has_a_script_and_pinned_needs() -> None:
    assert all((environments.CONTENDERS / f"{name.removesuffix('_ranks')}.py").exists() for name in train.CONTENDERS)
    lists = list(environments.CONTENDERS.glob("*.txt"))
    assert len(lists) == 6
    assert all("==" in line for path in lists for line in path.read_text().splitlines())


def test_the_stopwatch_counts_real_tokens_and_padding_after_the_first_steps() -> None:
    watch = Stopwatch(seconds=0.0)
    with pytest.raises(Finished):
        for _ in range(100):
            watch.lap((50, 100), (75, 100))
    assert watch.laps == WARM_UP_STEPS + LEAST_STEPS
    assert (1 - watch.real / watch.positions).tolist() == [0.5, 0.25]


def test_made_up_streams_have_the_lengths_asked_for(tmp_path: Path) -> None:
    path = streams.save(streams.draw_pairs(500, 14.0, 0.35, 8000), tmp_path / "streams.npz")
    job = train.job_for("tiny", "fp32", path, str(tmp_path), 1.0, ranks=1)
    lengths = [len(ids) for ids in job.sentences("target")]
    assert len(lengths) == 500 and 12 < np.mean(lengths) < 16
    assert job.write_text()["source"].read_text().split()[0] == f"w{job.sentences('source')[0][0]}"
    # A model of 2.3 million parameters: about 6 operations for each, and some for attention and the source.
    assert 10e6 < train.flops_per_token(job) < 20e6


@pytest.mark.slow
def test_two_contenders_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPRO_DATA", raising=False)
    monkeypatch.setitem(train.SIZES, "tiny", SMALL)
    monkeypatch.setattr(streams, "MADE_UP_PAIRS", 300)
    monkeypatch.setattr(train, "FOLDER", tmp_path / "folder")
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    contenders = ["ours", "ours_ranks", "plain_torch"]
    train.main(["--sizes=tiny", "--precisions=fp32", "--rounds=1", "--seconds=0.1", "--contenders", *contenders])
    runs = read_json(tmp_path / "train.json")["runs"]
    assert [one["contender"] for one in runs] == ["limit", *contenders]
    assert not [one["error"] for one in runs if "error" in one]
    assert all(one["tokens_per_second"] > 0 for one in runs[1:])
    measured, _, notes = (tmp_path / "train.md").read_text().partition("## What was tried")
    assert measured.count("\n| ") == 1 + len(contenders)
    assert notes
