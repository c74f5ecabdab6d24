"""What the reports say of how a model came to be."""

from pathlib import Path

import pytest

from tasks.common.paths import SHARDS
from tasks.results.provenance import how_it_was_made
from tasks.train import left_out
from tests.workspace import ROOT
from transformer.io.files import read_json, write_json


def test_pairs_that_the_shards_lack_stand_with_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dropped = {"train": {"too different in length": 2, "too long": 1500}, "valid": {}}
    splits = {split: {"pairs": 9, "dropped": counts} for split, counts in dropped.items()}
    write_json(SHARDS / "ours/manifest.json", {"splits": splits})
    score = read_json(ROOT / "reports/scores/tiny.json")
    before = how_it_was_made(score)
    score["training"]["left_out"] = left_out("ours")
    line = "- left out by the bounds of the shards: of train 2 too different in length, 1,500 too long\n"
    assert how_it_was_made(score).replace(line, "") == before.replace(line, "") != how_it_was_made(score)
