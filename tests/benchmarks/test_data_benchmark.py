"""The data benchmark: its tables, what it measures of a process, and two contenders run end to end."""

import gzip
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from benchmarks import data, data_report, made_up_text, page, process_tree
from benchmarks.process_tree import run_measured
from tasks.common.settings import read_corpus
from tests.workspace import corpus_settings, sentences
from transformer.io.errors import InputError
from transformer.io.files import read_json

FACTS = {"date": "2026-01-01", "commit": "abc", "device": "a processor", "cores": 2, "python": "3.11", "torch": "2.13"}
SIDE = {
    "running_words": 2_000_000,
    "distinct_words": 60_000,
    "growth": {"scale": 10.0, "exponent": 0.6},
    "lengths": {"mean": 20.0, "5": 6.0, "50": 20.0, "95": 50.0, "99": 70.0},
}
TEXT = {
    "pairs": 100_000,
    "languages": {code: SIDE | {"real": SIDE | {"pairs": 30_000}} for code in made_up_text.LANGUAGES},
}


def step(seconds: float, peak: float = 100.0, **others: Any) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": 2 * seconds, "peak_mb": peak, **others}


def road(*runs: dict[str, Any]) -> dict[str, Any]:
    return {
        **FACTS, "kind": "road", "text": TEXT, "runs": [run | {"load": 1.0} for run in runs],
        "made": {"pairs": 99_000, "subwords": 5_000_000, "vocabulary": 37_000},
    }  # fmt: skip


def others(*runs: dict[str, Any]) -> dict[str, Any]:
    rounds = [{"round": 1, "load": 1.0, "subwords": 5_000_000} | run for run in runs]
    return {**FACTS, "kind": "others", "text": TEXT, "contenders": data.CONTENDERS, "runs": rounds}


def test_the_road_is_a_row_with_each_stage() -> None:
    stages = [step(20, 300, step="corpus"), step(50, 900, step="subwords"), step(30, 700, step="shards")]
    text = data_report.report({"made, 100,000 pairs": road(*stages)}, "## Notes\n\nNone.\n")
    assert "| made, 100,000 pairs | 100 | 1,000 | 20 | 50 | 30 | 300 | 900 | 700 | 99,000 | 50.5 |" in text
    assert "| 100,000 | de | 2.0 | 60,342 | 60,000 | 30,171 | 30,000 | 20.0, 6 / 20 / 50 / 70 |" in text
    assert text.endswith("None.\n")


def test_a_stage_that_failed_is_named_in_its_row() -> None:
    stages = [step(20, step="corpus"), {"step": "subwords", "error": "no memory"}]
    assert "| made, 100,000 pairs | subwords: no memory |" in data_report.tables({"made, 100,000 pairs": road(*stages)})


def test_a_row_beside_others_is_the_median_of_its_rounds_with_the_ratio_to_the_faster() -> None:
    ours = [
        {"round": number, "contender": "ours", "toolkit": "ours", "steps": {"corpus": step(5), "shards": step(shards)}}
        for number, shards in ((1, 5.0), (2, 20.0), (3, 3.0))
    ]
    hugging = {"contender": "datasets", "toolkit": "datasets 5", "steps": {"map": step(40, 500)}}
    fairseq = {"contender": "fairseq", "toolkit": "fairseq 0", "steps": {"pieces": step(20), "binary": step(60)}}
    text = data_report.tables({"others": others(*ours, hugging, fairseq)})
    row = "| ours: corpus + shards | 10,000 | 4,000 to 12,500 | 4.00 | 5.0 + 5.0 | 10.0 + 10.0 | 100 | 5.00 |"
    assert row in text
    assert "| ours, `shards` alone | 20,000 | 5,000 to 33,333 | 8.00 | 5.0 | 10.0 | 100 | 5.00 |" in text
    assert "| datasets 5: map | 2,500 | 2,500 to 2,500 | 1.00 | 40.0 | 80.0 | 500 | 5.00 |" in text
    assert "| fairseq 0: pieces + binary | 1,250 | 1,250 to 1,250 | 0.50 | 20.0 + 60.0 |" in text


def test_a_contender_that_did_not_run_is_a_row_that_says_why() -> None:
    text = data_report.tables({"others": others({"contender": "fairseq", "error": "no such release"})})
    assert "| fairseq | | no such release |" in text and "| ours | | not run |" in text


def test_memory_and_seconds_are_those_of_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child works for a while, and then holds its memory until that has been looked at."""
    seen, memory = tmp_path / "seen", process_tree.memory

    def look(process: psutil.Process) -> int:
        if (held := memory(process)) > 150e6:
            seen.touch()
        return held

    monkeypatch.setattr(process_tree, "memory", look)
    child = (
        "import pathlib, time; held = b'x' * 160_000_000\n"
        "while time.process_time() < 0.5 or not pathlib.Path('seen').exists(): pass"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print('done')"
    found = run_measured([sys.executable, "-c", parent], tmp_path, tmp_path / "log", seconds=240)
    assert found["peak_mb"] > 150
    assert found["cpu_seconds"] >= 0.5
    assert found["seconds"] >= 0.5
    assert (tmp_path / "log").read_text() == "done\n"


def test_a_command_that_fails_or_lasts_too_long_says_so(tmp_path: Path) -> None:
    failing, lasting = ("raise SystemExit('it has no text')", 60), ("import time; time.sleep(60)", 1)
    found = [
        run_measured([sys.executable, "-c", code], tmp_path, tmp_path / "log", seconds)
        for code, seconds in (failing, lasting)
    ]
    assert found == [{"error": "it has no text"}, {"error": "not done after 1 s"}]


def test_a_project_has_the_settings_of_the_corpus_and_the_made_up_text(tmp_path: Path) -> None:
    data.make_project(tmp_path / "text", "wmt14-en-de", tmp_path)
    sections = ("cleaning", "text", "subwords", "shards")
    made = read_corpus(data.NAME, "origin", *sections, path=tmp_path / "params.yaml")
    real = read_corpus("wmt14-en-de", *sections, path=data.CHECKOUT / "params.yaml")
    assert all(getattr(made, section) == getattr(real, section) for section in sections)
    assert made.origin.folder == str(tmp_path / "text") and made.origin.train == [["train.en.gz", "train.de.gz"]]
    with pytest.raises(InputError, match="did you mean 'wmt14-en-de'"):
        data.make_project(tmp_path / "text", "wmt14-en-dee", tmp_path)


@pytest.mark.slow
def test_the_road_and_two_contenders_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRO_DATA", str(tmp_path))
    for name in [*made_up_text.SLICES, *made_up_text.HELD_OUT.values()]:
        for side, code in enumerate(made_up_text.LANGUAGES):
            path = tmp_path / name.format(code)
            path.parent.mkdir(exist_ok=True)
            text = "".join(pair[side] + "\n" for pair in sentences(100, seed=1)).encode()
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump(
            {"corpora": {"mine": corpus_settings(tmp_path)}, "presets": {}, "experiments": {}, "max_restarts": 0}
        )
    )
    monkeypatch.setattr(data, "CHECKOUT", tmp_path)
    monkeypatch.setattr(data, "FOLDER", tmp_path / "folder")
    monkeypatch.setattr(made_up_text, "FOLDER", tmp_path / "folder")
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    data.main(
        ["--pairs=500", "--side-by-side=300", "--rounds=2", "--settings=mine", "--contenders", "ours", "datasets"]
    )
    found = read_json(tmp_path / "data.json")
    assert found.keys() == {"mine, 500 pairs", "beside others"}
    runs = [run for part in found.values() for run in part["runs"]]
    assert [run.get("error") for run in runs] == [None] * 7
    assert runs[-1]["subwords"] >= runs[-2]["subwords"] > 1000  # ours has dropped some pairs
    assert (tmp_path / "data.md").read_text().count("\n| mine") == 1
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["logs", "text"]
