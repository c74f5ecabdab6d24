"""The comparison of searches: its table, its choice of batch size, and two contenders run end to end."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import environments, page, rounds, translate, translate_report
from tests.random_model import write_corpus, write_folder
from transformer.io.errors import InputError
from transformer.io.files import read_json
from transformer.translator import Translator


def run(contender: str, speed: float, number: int = 1, **others: Any) -> dict[str, Any]:
    way = {"workers": 1, "threads": 2, "batch": 64}
    found = {
        "toolkit": contender.upper(),
        "sentences_per_second": speed,
        "tokens_per_second": 12 * speed,
        "peak_mb": 500.0,
    }
    return {"round": number, "contender": contender, **way, **found, "load": 1.0, **others}


def results(*runs: dict[str, Any], trials: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "date": "2026-01-01", "commit": "abc", "device": "a processor", "cores": 2, "python": "3.11", "torch": "2.13",
        "model": "`mine`", "corpus": "sentences", "seconds": 1.0, **translate.SEARCH,
        "contenders": translate.CONTENDERS, "trials": trials or [], "runs": list(runs),
    }  # fmt: skip


def test_a_row_is_the_median_of_its_rounds_beside_the_best_in_python_and_ctranslate2() -> None:
    ours = [run("ours", speed, number, batch=0) for number, speed in enumerate([390.0, 500.0, 400.0], start=1)]
    others = [run("marian", 100.0, same_as_ours=0.985), run("fairseq", 200.0), run("ctranslate2", 800.0)]
    text = translate_report.report(results(*ours, *others), "## What was tried\n\nNothing yet.\n")
    assert "| OURS | 1 x 2 | own rule | 400 | 390 to 500 | 4,800 | 2.00 | 0.50 |  | 500 |" in text
    assert "| MARIAN | 1 x 2 | 64 | 100 | 100 to 100 | 1,200 | 0.50 | 0.12 | 98.5% | 500 |" in text
    assert text.endswith("Nothing yet.\n")


def test_what_did_not_run_is_a_row_that_says_why() -> None:
    trial = {"contender": "marian", "error": "not installed: no such release"}
    text = translate_report.table(results(run("ours", 400.0), trials=[trial]))
    assert "| marian | | | | not installed: no such release |" in text
    assert "| fairseq | | | | not run |" in text


def test_the_fastest_way_to_run_a_contender_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_one(trial: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"sentences_per_second": trial["workers"] * 100.0 + trial["batch"]}

    monkeypatch.setattr(translate, "run_one", run_one)
    found = results()
    best = translate.try_variants("ctranslate2_int8", Path(), Path(), found)
    assert best == {"workers": 2, "threads": 1, "batch": 128}
    assert len(found["trials"]) == 6
    assert translate.variants("ctranslate2", cores=1) == [
        {"workers": 1, "threads": 1, "batch": batch} for batch in translate.BATCHES["ctranslate2"]
    ]


def test_a_contender_that_fails_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "run_one", lambda *_: {"error": "it does not start"})
    found = results()
    translate.try_variants("marian", Path(), Path(), found)
    assert len(found["trials"]) == 1
    assert rounds.failed_before(
        found["trials"], {"round": 1, "contender": "marian", **translate.variants("marian", 2)[0]}
    )


def test_a_model_that_others_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    translator = Translator.load(write_folder(tmp_path / "model", normalisation="pre"))
    with pytest.raises(InputError, match=r"model\.normalisation is pre"):
        translate.check_model(translator)


def test_every_contender_has_a_script() -> None:
    folder = Path(translate.__file__).with_name("translators")
    assert all((folder / f"{translate.toolkit_and_precision(name)[0]}.py").exists() for name in translate.CONTENDERS)


@pytest.mark.slow
def test_two_contenders_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is missing: make install-export")
    monkeypatch.setattr(environments, "CONTENDERS", tmp_path)  # no needs of their own: the tests' environment has all
    monkeypatch.setattr(translate, "FOLDER", tmp_path / "folder")
    monkeypatch.setattr(translate, "MODELS", tmp_path)
    monkeypatch.setattr(translate, "CORPORA", tmp_path)
    monkeypatch.setattr(translate, "BATCHES", {"ours": [0], "ctranslate2": [16]})
    monkeypatch.setattr(translate, "TRIAL_SECONDS", 0.0)
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    write_folder(tmp_path / "tiny")
    write_corpus(tmp_path / "software-ui-en-de")
    translate.main(["--experiment=tiny", "--rounds=1", "--seconds=0", "--contenders", "ours", "ctranslate2"])
    found = read_json(tmp_path / "translate.json")
    assert not [one["error"] for one in [*found["trials"], *found["runs"]] if "error" in one]
    assert [one["contender"] for one in found["runs"]] == ["ours", "ctranslate2"]
    # An untrained model does not know when to end, and CTranslate2 does not limit each output by its own source.
    assert found["runs"][0]["same_as_ours"] == 1.0 and found["runs"][1]["same_as_ours"] > 0.1
    assert (tmp_path / "translate.md").read_text().count("\n| ") == 3  # the header and both
