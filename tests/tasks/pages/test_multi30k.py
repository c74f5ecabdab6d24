"""The page on Multi30k: published beside measured, kinds of BLEU apart, and the spread over seeds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.common.document import markdown
from tasks.common.settings import Params, parse_params
from tasks.pages.multi30k import multi30k
from tasks.results.stored import PUBLISHED, Results, Scores
from tests.workspace import PRESETS, corpus_settings, experiment_settings

PRINTED = yaml.safe_load(PUBLISHED.read_text())
COLUMNS = 11


def params() -> Params:
    german = {"languages": {"source": "en", "target": "de"}, "test_set": "multi30k test2016"}
    first = experiment_settings("captions")
    other = {**first, "seed": 2}
    return parse_params({
        "presets": PRESETS, "max_restarts": 1,
        "corpora": {
            "captions": {**corpus_settings(Path("text")), **german},
            "captions-fr": {**corpus_settings(Path("text")), **german, "languages": {"source": "en", "target": "fr"}},
            "else": corpus_settings(Path("text")),
        },
        "experiments": {
            "one": first,
            "two": other,
            "three": {**other, "corpus": "captions-fr"},
            "four": experiment_settings("else"),
        },
    })  # fmt: skip


def results(settings: Params, measured: Scores) -> Results:
    return Results(settings, measured, {}, {}, None, [], {}, PRINTED)


def score(tokens: float) -> dict[str, Any]:
    def metric(value: float, signature: str) -> dict[str, Any]:
        return {"score": value, "signature": signature}

    test = {
        "bleu": metric(25.125, "case:mixed|tok:13a"),
        "bleu_lowercase": metric(35.5, "case:lc|tok:13a"),
        "bleu_lowercase_tokens": {
            **metric(tokens, "case:lc|tok:none"),
            "precisions": [71.234, 47.0, 34.0, 25.0], "brevity_penalty": 0.98765, "reference_tokens": 12345,
        },
        "chrf": metric(60.0, "nc:6"),
    }  # fmt: skip
    training = {
        "preset": "wu2021", "changes": {}, "model": {"layers": 4}, "training": {"updates": 5000}, "vocabulary": 10000,
        "parameters": 2600000, "update": 5000, "seconds": 3725.0, "averaged_updates": [4950, 5000],
        "date": "2026-11-29T10:00:00+00:00", "mlflow_run": "fedcba9876543210",
        "made_by": [{"commit": "0123456789abcdef", "machine": {"device": "some processor", "devices": 2}}],
    }  # fmt: skip
    return {
        "scores": {"test": test},
        "training": training,
        "search": {"beam": 5, "penalty": "length"},
        "text": {"lowercase": True, "tokenise": "moses"},
    }


def rows(page: str, name: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| {name} ")]


def test_the_published_figure_stands_first_and_is_marked() -> None:
    page = markdown(multi30k(results(params(), {"one": score(41.2)})))
    (theirs,) = rows(page, "Transformer-Tiny, Wu et al. 2021 (published)")
    assert theirs[1:5] == ["41.02", "71.0 / 47.5 / 34.3 / 24.5", "0.999", "12,103"]
    assert page.index("Transformer-Tiny") < page.index("| one |")


@pytest.mark.fault("F29")
def test_each_kind_of_bleu_has_a_table_of_its_own() -> None:
    tokens, plain = rows(markdown(multi30k(results(params(), {"one": score(41.2)}))), "one")
    assert tokens[1:] == [
        "**41.20**", "71.2 / 47.0 / 34.0 / 25.0", "0.988", "12,345", "5,000", "1 h 2 min", "2 x some processor",
        "2026-11-29", "01234567", "fedcba98",
    ]  # fmt: skip
    assert plain[1:] == ["25.12", "35.50", "60.00"]


def test_signatures_and_settings_are_on_the_page() -> None:
    page = markdown(multi30k(results(params(), {"one": score(41.2)})))
    for expected in (
        "case:mixed|tok:13a",
        "case:lc|tok:13a",
        "case:lc|tok:none",
        "nc:6",
        "penalty length",
        "0123456789abcdef",
    ):
        assert expected in page


def test_other_languages_and_test_sets_are_not_on_the_page_and_what_was_not_run_says_so() -> None:
    page = markdown(multi30k(results(params(), {"one": score(41.2)})))
    assert [row[1] for row in rows(page, "two")] == ["not run", "not run"]
    assert not rows(page, "three")
    assert not rows(page, "four")


def test_an_experiment_that_failed_says_where_and_why() -> None:
    failure = {"stage": "train@two", "error": "no room", "date": "2026-11-30"}
    failed = replace(results(params(), {"one": score(41.0)}), failures={"two": failure, "one": failure})
    page = markdown(multi30k(failed))
    assert [row[1] for row in rows(page, "two")] == ["failed in train@two: no room"] * 2
    assert "**one** failed in train@two: no room (2026-11-30)" in page


def test_the_spread_over_seeds_is_the_mean_and_the_sample_deviation() -> None:
    page = markdown(multi30k(results(params(), {"one": score(41.0), "two": score(42.0)})))
    assert "one, two differ in nothing but the seed: BLEU 41.50 in the mean, standard deviation 0.71" in page
    assert "from 41.00 to 42.00" in page
    assert "differ in nothing" not in markdown(multi30k(results(params(), {"one": score(41.0)})))


def test_experiments_that_differ_in_more_than_the_seed_make_no_spread() -> None:
    settings = params()
    two = settings.experiments["two"].model_copy(update={"changes": {"warmup": 101}})
    settings = settings.model_copy(update={"experiments": {**settings.experiments, "two": two}})
    page = markdown(multi30k(results(settings, {"one": score(41.0), "two": score(42.0)})))
    assert "differ in nothing" not in page


def test_with_no_scores_the_page_says_so() -> None:
    page = markdown(multi30k(results(params(), {})))
    assert "Nothing has been measured yet." in page
    assert page.count("not run") == 4


def test_every_row_has_as_many_cells_as_the_header() -> None:
    page = markdown(multi30k(results(params(), {"one": score(41.0)})))
    first = page[page.index("| system") : page.index("Text in lower case")]
    assert {len(line.strip("| ").split(" | ")) for line in first.strip().splitlines() if "not run" not in line} == {
        COLUMNS
    }
