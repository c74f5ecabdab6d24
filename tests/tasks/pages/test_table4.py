"""Table 4: the paper's rows as the paper's, ours from stored scores, and nothing where nothing ran."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tasks.common.document import markdown
from tasks.common.settings import parse_params
from tasks.pages.table4 import table4
from tasks.results.stored import PAPER, Results, Scores
from tests.tasks.pages.test_table2 import scores as translation_scores
from tests.workspace import PRESETS, corpus_settings, experiment_settings

PRINTED = yaml.safe_load(PAPER.read_text())
PARAMS = parse_params({
    "corpora": {"c": {**corpus_settings(Path("text")), "test_set": "made-up trees"}},
    "presets": PRESETS, "max_restarts": 1,
    "experiments": {"parser": experiment_settings("c"), "unrun": experiment_settings("c")},
})  # fmt: skip


def results(measured: Scores) -> Results:
    return Results(PARAMS, measured, {}, {}, None, [], PRINTED, {})


def scores() -> dict[str, Any]:
    """A score file of a parser, of which two sentences failed in the first search."""
    found = {
        "sentences": 2416, "failed": 2, "recall": 81.234, "precision": 83.456, "f1": 82.33, "complete_match": 20.5,
        "recall_all": 81.1, "f1_all": 82.26, "complete_match_all": 20.48, "tagging": 95.678,
        "rules": "tasks/evalb/collins.prm",
    }  # fmt: skip
    whole = {**found, "failed": 0, "recall_all": 81.234, "f1_all": 82.33, "complete_match_all": 20.5, "tagging": None}
    outputs = {
        "sentences": 2416, "repaired": 24, "cut_at_the_length_limit": 3, "sentences_per_second": 3.21,
        "perplexity": {"per_subword": 1.2345, "per_word": 2.0},
    }  # fmt: skip
    return translation_scores() | {
        "corpus": {"test_set": "made-up trees", "pairs": {"train": 400}},
        "scores": {"valid": {**whole, "f1": 84.56}, "test": found, "test.well_formed": whole},
        "splits": {"valid": outputs, "test": outputs, "test.well_formed": {**outputs, "repaired": 0}},
        "text": {"trees": "vinyals"},
    }


def test_each_search_has_a_row_with_its_figures() -> None:
    table = markdown(table4(results({"parser": scores()})))
    free, well_formed = [line for line in table.splitlines() if line.startswith("| parser | made-up trees |")]
    for expected in (
        "repaired",
        "2,416",
        "81.23 (81.10)",
        "83.46",
        "**82.33 (82.26)**",
        "20.50 (20.48)",
        "| 2 |",
        "95.68",
    ):
        assert expected in free
    assert "| 0.99% | 0.12% | 3.2 |" in free
    for expected in ("only well-formed", "**82.33**", "| 20.50 |", "| 0 |", "| – |", "0.00%"):
        assert expected in well_formed


def test_what_did_not_run_says_so() -> None:
    table = markdown(table4(results({"parser": scores()})))
    assert "| unrun | made-up trees | not run |" in table
    assert "Nothing has been measured yet." not in table
    assert "Nothing has been measured yet." in markdown(table4(results({})))


def test_what_failed_says_where_and_why() -> None:
    failure = {"stage": "train@unrun", "error": "no room", "date": "2026-11-30"}
    page = markdown(table4(replace(results({"parser": scores()}), failures={"unrun": failure, "parser": failure})))
    assert "| unrun | made-up trees | failed in train@unrun: no room |" in page
    assert "**parser** failed in train@unrun: no room (2026-11-30)" in page


def test_the_papers_rows_are_all_there() -> None:
    rows = [(row["training"], row["f1"]) for row in PRINTED["table4"]]
    assert [f1 for training, f1 in rows if training.startswith("WSJ only")] == [88.3, 90.4, 90.4, 91.7, 91.3]
    assert [f1 for training, f1 in rows if training == "semi-supervised"] == [91.3, 91.3, 92.1, 92.1, 92.7]
    assert rows[10:] == [("multi-task", 93.0), ("generative", 93.3)]
    table = markdown(table4(results({})))
    assert "| Transformer (4 layers) | WSJ only, discriminative | 91.3 |" in table
    assert "| Transformer (4 layers) | semi-supervised | 92.7 |" in table
