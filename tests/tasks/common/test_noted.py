"""What was noted of files when they were written, and what is said where they are others when they are read."""

import json
from pathlib import Path

import pytest

from tasks.common.noted import check_files, with_hash, without_hash
from transformer.io.errors import InputError
from transformer.io.files import read_json, sha256, write_json

FACTS = {"scores": {"bleu": 27.3, "perplexity": float("inf")}, "lengths": {10: [1, 2]}, "words": "grün"}


def test_facts_come_back_without_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    write_json(path, with_hash(FACTS))
    assert without_hash(path, read_json(path)) == json.loads(json.dumps(FACTS))
    assert without_hash(path, {"older": 1}) == {"older": 1}


def test_a_changed_digit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    write_json(path, with_hash(FACTS))
    path.write_text(path.read_text().replace("27.3", "28.3"))
    with pytest.raises(InputError, match=r"tiny\.json: not what was written; `git checkout .*tiny\.json` brings"):
        without_hash(path, read_json(path))


def test_a_changed_file_is_named_and_what_is_not_asked_for_is_not_read(tmp_path: Path) -> None:
    for name in ("train.en", "test.en"):
        (tmp_path / name).write_text("the red cat\n")
    noted = {path.name: sha256(path) for path in tmp_path.iterdir()}
    check_files(tmp_path, noted, [*noted, "older.en"])
    (tmp_path / "train.en").write_text("the red car\n")
    check_files(tmp_path, noted, ["test.en"])
    with pytest.raises(InputError, match=r"train\.en: damaged"):
        check_files(tmp_path, noted, noted)
