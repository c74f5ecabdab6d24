"""The tables: the paper's numbers as the paper's, ours from stored scores, and nothing where nothing ran."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.common.document import as_markdown, markdown
from tasks.common.settings import parse_params
from tasks.figures.curves import draw_curves
from tasks.pages import table2 as page
from tasks.results.stored import PAPER, Results, Scores, read_scores
from tasks.scoring.bleu import NOT_APPLICABLE
from tests.workspace import PRESETS, corpus_settings, experiment_settings
from transformer.io.errors import InputError

PRINTED = yaml.safe_load(PAPER.read_text())
PARAMS = parse_params({
    "corpora": {"c": corpus_settings(Path("text"))},
    "presets": PRESETS, "max_restarts": 1,
    "experiments": {"e": experiment_settings("c"), "unrun": experiment_settings("c")},
})  # fmt: skip


def results(measured: Scores, comparisons: list[dict[str, Any]] | None = None) -> Results:
    return Results(PARAMS, measured, {}, {}, None, comparisons or [], PRINTED, {})


def scores(device: str = "some processor") -> dict[str, Any]:
    metric = {"score": 31.416, "signature": "nrefs:1|case:mixed"}
    split = {
        "sentences": 30, "bleu": metric, "bleu_paper": {**metric, "score": 32.11}, "bleu_paper_plain_quotes": metric,
        "chrf": metric, "ter": {**metric, "score": 51.06}, "bleu_of_copied_source": {**metric, "score": 2.718},
    }  # fmt: skip
    perplexity = {"per_subword": 5.012, "per_word": 9.017}
    training = {
        "experiment": "e", "preset": "laptop", "changes": {},
        "corpus": "c", "languages": {"source": "en", "target": "xx"},
        "model": {"layers": 1}, "training": {"updates": 20},
        "vocabulary": 90, "parameters": 12345, "hashes": {"shards": "aa", "subwords": "bb"},
        "update": 20, "epoch": 3, "target_tokens": 5000, "seconds": 100.0, "validation_seconds": 2.0, "flops": 1.5e12,
        "averaged_updates": [10, 20], "products_in": "fp32", "date": "2026-11-29T10:00:00+00:00",
        "mlflow_run": "fedcba9876543210",
        "made_by": [{
            "commit": "0123456789abcdef",
            "machine": {"device": device, "devices": 8, "flops_per_second": 2e11, "torch": "2"},
        }],
        "curve": {
            "training": {"update": [10, 20], "perplexity": [9.0, 5.0]},
            "valid": {"update": [20], "perplexity": [6.0]},
        },
    }  # fmt: skip
    return {
        "corpus": {"test_set": "made-up", "pairs": {"train": 400}},
        "scores": {"valid": split, "test": split},
        "splits": {
            "valid": {"perplexity": perplexity},
            "test": {"cut_at_the_length_limit": 1, "perplexity": perplexity},
        },
        "search": {"beam": 4},
        "speed": 200.0,
        "ours": [["A red cat.", "Da gato rota."]],
        "training": training,
    }


def test_measured_row_shows_test_set_scores_costs_and_where_they_come_from() -> None:
    table = markdown(page.table2(results({"e": scores()})))
    row = next(line for line in table.splitlines() if line.startswith("| e |"))
    for expected in ("made-up en-xx", "**31.42**", "32.11", "2.72", "12,345", "1.6e14", "1.5e12", "8 x some processor",
                     "1 min 40 s | 0.222 | no price |", "2026-11-29", "01234567",
                     "fedcba98"):  # fmt: skip
        assert expected in row
    assert "nrefs:1\\|case:mixed" in table or "nrefs:1|case:mixed" in table
    assert "| A red cat. | Da gato rota. |" in table


@pytest.mark.fault("F29")
def test_a_score_that_does_not_apply_to_the_text_says_so() -> None:
    score = scores()
    split = score["scores"]["test"]
    for name in ("bleu_paper", "bleu_paper_plain_quotes", "ter"):
        split[name] = NOT_APPLICABLE
    score["splits"]["test"]["perplexity"]["per_word"] = None
    told = markdown(page.table2(results({"e": score})))
    row = next(line for line in told.split("\n") if line.startswith("| e |") and "made-up" in line)
    assert "| **31.42** | not applicable | 31.42 |" in row
    assert "| e | not applicable | not applicable | 5.01 | 5.01 | not applicable | not applicable |" in told
    assert "the paper's way not applicable: written without spaces between words, chrF" in told


def test_a_score_file_of_an_older_version_is_named(tmp_path: Path) -> None:
    path, old = tmp_path / "e.json", scores()
    path.write_text(json.dumps(old))
    assert read_scores(path) == old
    del old["scores"]["test"]["bleu_paper"]
    path.write_text(json.dumps(old))
    with pytest.raises(InputError, match=r"e\.json: written by an older version.*translate@e score@e"):
        read_scores(path)


def test_a_damaged_score_file_and_that_of_another_experiment_are_named(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    for damaged, said in (
        ([], "damaged, has no 'corpus'"),
        ({**scores(), "training": {**scores()["training"], "experiment": "f"}}, "of f, not of e"),
        ({key: value for key, value in scores().items() if key != "ours"}, "damaged, has no 'ours'"),
    ):
        path.write_text(json.dumps(damaged))
        with pytest.raises(InputError, match=rf"e\.json: .*{said}"):
            read_scores(path)


def test_other_scores_have_a_table_of_their_own() -> None:
    assert "| e | 31.42 | 51.06 | 5.01 | 5.01 | 9.02 | 9.02 |" in as_markdown(page.other_rows({"e": scores()}))


def test_a_comparison_is_shown_with_its_p_values_until_the_outputs_are_scored_anew() -> None:
    metric = {"score": 31.416, "baseline": 31.416, "p_bootstrap": 0.0123, "p_randomisation": 0.5}
    compared = [{"experiment": "e", "baseline": "f", "metrics": {"bleu": metric}}]
    both = {"e": scores(), "f": scores()}
    row = "| e | f | bleu | 31.42 | 31.42 | 0.0123 | 0.5000 |"
    assert row in markdown(page.table2(results(both, compared)))
    both["f"]["scores"]["test"]["bleu"]["score"] = 30.0
    assert "| e | f | bleu | scored anew since: compare again |" in as_markdown(page.differences(compared, both))


def test_a_row_that_was_not_run_says_so() -> None:
    assert "| unrun | test | made-up en-xx | not run |" in markdown(page.table2(results({"e": scores()})))


def test_a_row_that_failed_says_where_and_why() -> None:
    failure = {"stage": "train@unrun", "error": "no room | for\nthe model", "date": "2026-11-30T10:00:00+00:00"}
    page_of_both = markdown(page.table2(replace(results({"e": scores()}), failures={"unrun": failure, "e": failure})))
    assert "| unrun | test | made-up en-xx | failed in train@unrun: no room \\| for the model |" in page_of_both
    assert "**e** failed in train@unrun" in page_of_both
    assert "(2026-11-30T10:00:00+00:00)" in page_of_both


def test_with_no_scores_there_are_only_the_papers_rows() -> None:
    table = markdown(page.table2(results({})))
    assert table.count("not run") == 2
    assert "| Transformer (base) | 27.3 | 38.1 | 3.3e18 | 3.3e18 |" in table


def test_every_row_of_the_papers_table_is_there() -> None:
    assert len(PRINTED["table2"]) == 10
    assert "| GNMT + RL | 24.6 | 39.92 | 2.3e19 | 1.4e20 |" in as_markdown(page.papers_rows(PRINTED))


@pytest.mark.parametrize(
    ("hours", "device", "expected"), [(12, "Tesla P100-SXM2-16GB", 3.28e18), (84, "Tesla P100-SXM2-16GB", 2.30e19)]
)
def test_cost_by_the_papers_method_gives_the_papers_figures(hours: int, device: str, expected: float) -> None:
    training = {**scores(device)["training"], "seconds": hours * 3600.0}
    assert page.papers_cost(training, PRINTED) == pytest.approx(expected, rel=0.01)


def test_reports_are_the_same_for_the_same_scores(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        draw_curves(results({"e": scores()}), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert markdown(page.table2(results({"e": scores()}))) == markdown(
        page.table2(results({"e": json.loads(json.dumps(scores()))}))
    )
