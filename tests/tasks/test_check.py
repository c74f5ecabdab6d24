import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tasks.check import check
from transformer.io.errors import InputError

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the project's params.yaml, whose corpus multi30k is two words long."""
    params = yaml.safe_load((PROJECT / "params.yaml").read_text(encoding="utf-8"))
    names = {split: [f"{split}.en", f"{split}.de"] for split in ("train", "valid", "test")}
    params["corpora"]["multi30k"]["origin"] = {"kind": "files", "folder": "$OUR_TEXT"} | names
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    (tmp_path / "text").mkdir()
    for file in itertools.chain(*names.values()):
        (tmp_path / "text" / file).write_text("word\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OUR_TEXT", str(tmp_path / "text"))
    return tmp_path


def fingerprint(project, corpus="multi30k"):
    return json.loads((project / "data" / "sources" / f"{corpus}.json").read_text(encoding="utf-8"))


def test_files_are_known_by_name_size_and_hash_only(project):
    check(["multi30k"])
    files = fingerprint(project)["files"]
    assert [file["name"] for file in files] == ["train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de"]
    assert {file["bytes"] for file in files} == {5}
    assert str(project) not in json.dumps(files)


def test_only_changed_content_changes_the_fingerprint(project, monkeypatch):
    check(["multi30k"])
    path = project / "data" / "sources" / "multi30k.json"
    before, written = fingerprint(project), path.stat().st_mtime_ns
    (project / "text").rename(project / "moved")
    monkeypatch.setenv("OUR_TEXT", str(project / "moved"))
    (project / "moved" / "test.de").touch()
    check(["multi30k"])
    assert path.stat().st_mtime_ns == written
    (project / "moved" / "test.de").write_text("Wort\n", encoding="utf-8")
    check(["multi30k"])
    assert fingerprint(project) != before


def test_every_corpus_has_a_fingerprint_wherever_its_files_are(project, monkeypatch):
    monkeypatch.delenv("OUR_TEXT")
    check([])
    assert "missing" in fingerprint(project)
    assert [wheel["name"] for wheel in fingerprint(project, "software-ui-en-de")["wheels"]] == [
        "homeassistant", "horizon"
    ]  # fmt: skip
    published = fingerprint(project, "wmt14-en-de")
    assert (len(published["train"]), set(published["sets"])) == (3, {"newstest2013", "newstest2014"})
    assert "urls" not in published["train"][0]  # where it is fetched from does not make a text another


def test_files_that_went_away_do_not_make_results_look_old(project, monkeypatch):
    check([])
    before = fingerprint(project)
    monkeypatch.delenv("OUR_TEXT")
    check([])
    assert fingerprint(project) == before


def test_files_that_an_experiment_needs_must_be_there(project):
    (project / "text" / "valid.de").unlink()
    with pytest.raises(InputError, match=r"corpus multi30k: .*valid\.de: no such file"):
        check(["multi30k"])


def test_text_that_is_fetched_needs_none_of_the_users_files(project):
    check(["base", "big-en-fr"])
    assert fingerprint(project, "wmt14-en-de")["kind"] == fingerprint(project, "wmt14-en-fr")["kind"] == "archives"


def test_a_folder_in_the_hubs_layout_is_watched_too(project):
    params = yaml.safe_load((project / "params.yaml").read_text(encoding="utf-8"))
    params["corpora"]["wmt14-en-de"]["origin"] = {
        "kind": "hub", "dataset": "$OUR_TEXT", "config": "de-en", "terms": "none", "valid": "newstest2013"
    }  # fmt: skip
    (project / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    with pytest.raises(InputError, match=r"corpus wmt14-en-de: .*de-en: no file train-\*\.parquet"):
        check(["base"])
    (project / "text" / "de-en").mkdir()
    for split in ("train", "validation", "test"):
        (project / "text" / "de-en" / f"{split}-00000-of-00001.parquet").write_bytes(b"rows")
    check(["base"])
    files = fingerprint(project, "wmt14-en-de")["files"]
    assert [(file["split"], file["bytes"]) for file in files] == [("train", 4), ("valid", 4), ("test", 4)]


def test_trees_are_watched_where_they_are_a_folder_and_fetched_otherwise(project, monkeypatch):
    monkeypatch.delenv("REPRO_DATA", raising=False)
    check(["parsing-craft"])
    assert fingerprint(project, "craft")["archive"]["file"] == "craft-5.0.2.tar.gz"
    (project / "treebank" / "craft").mkdir(parents=True)
    for name in ("0.tree", "14691534.tree"):
        (project / "treebank" / "craft" / name).write_text("(TOP (NN tea))\n")
    (project / "treebank" / "craft" / "joined.tree").write_text("(TOP (NN tea))\n")
    (project / "treebank" / "craft" / "joined.files.tsv").write_text("15850489.tree\t1\n")
    monkeypatch.setenv("REPRO_DATA", str(project))
    check([])
    seen = fingerprint(project, "craft")
    assert [(file["split"], file["name"]) for file in seen["files"]] == [
        ("train", "0.tree"), ("valid", "14691534.tree"), ("test", "joined.tree"), ("test", "joined.files.tsv")
    ]  # fmt: skip
    monkeypatch.delenv("REPRO_DATA")
    check([])
    assert fingerprint(project, "craft") == seen
    check(["parsing-craft"])
    assert fingerprint(project, "craft")["archive"]["file"] == "craft-5.0.2.tar.gz"
    assert "missing" in fingerprint(project, "wsj")


def test_an_unknown_experiment_ends_with_one_line_at_once(project):
    command = [sys.executable, "-m", "tasks.check", "tinny"]
    run = subprocess.run(command, env={"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr == "error: params.yaml: no experiment 'tinny'; did you mean 'tiny'?\n"


def test_a_pattern_stands_for_all_experiments_that_it_fits(project):
    check(["multi30k", "t[hi]ny"])
    assert sorted(path.stem for path in (project / "data" / "sources").iterdir()) == ["multi30k", "software-ui-en-de"]
    with pytest.raises(InputError, match=r"no experiment 'multi30k\?\?'; did you mean 'multi30k'"):
        check(["multi30k??"])


def test_the_check_loads_no_heavy_library():
    code = "import sys, tasks.check; sys.exit(bool({'torch', 'mlflow', 'pyarrow', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=False).returncode == 0
