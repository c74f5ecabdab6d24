"""Table 3: the paper's and ours side by side, and what is noise called so."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from matplotlib.pyplot import imread
from scipy.stats import ttest_rel

from tasks.common.document import markdown
from tasks.common.settings import parse_params
from tasks.figures.table3 import draw_table3
from tasks.pages.table3 import by_the_clock, sign, table3
from tasks.results.stored import PAPER, Results, Scores
from tasks.results.table3_statistics import Difference, differences, residual
from tests.workspace import PRESETS, corpus_settings, experiment_settings

PRINTED = yaml.safe_load(PAPER.read_text())
SEEDS = ("", "-seed2", "-seed3")
# What each seed adds to a row's scores.
LUCK = {"base": (0.0, 0.1, -0.1), "A1": (0.1, -0.1, 0.0), "A4": (-0.1, 0.0, 0.1), "big": (0.0, 0.1, -0.1)}
# Perplexity and BLEU of a row, by which it differs from base (6.0 and 20.0) beyond that, as the paper's row or not.
ROWS = {"base": (6.0, 20.0), "A1": (7.0, 18.0), "A4": (5.0, 20.02), "big": (5.5, 19.0)}


def experiments() -> dict[str, Any]:
    names = ["base", "table3-A1", "big", "other", *(f"table3-tiny-{row}{seed}" for row in ROWS for seed in SEEDS)]
    found = {name: experiment_settings("c") for name in names}
    for table, row, name, seed in [
        ("table3", "base", "base", 1),
        ("table3", "A1", "table3-A1", 1),
        ("table3", "big", "big", 1),
        *(("table3-tiny", row, f"table3-tiny-{row}{seed}", n + 1) for row in ROWS for n, seed in enumerate(SEEDS)),
    ]:
        found[name] |= {"table": table, "row": row, "seed": seed}
    found["base"]["changes"] = {"warmup": 4000, "updates": 100_000}
    return found


PARAMS = parse_params({
    "corpora": {"c": corpus_settings(Path("text"))}, "presets": PRESETS, "max_restarts": 1, "experiments": experiments()
})  # fmt: skip


def score(name: str, perplexity: float, bleu: float, averaged: tuple[int, ...] = (20,)) -> dict[str, Any]:
    experiment = PARAMS.experiments[name]
    training = {
        "experiment": name, "corpus": "c", "vocabulary": 90,
        "model": experiment.model.model_dump(), "training": experiment.training.model_dump(),
        "parameters": 654_321, "hashes": {"shards": "aa", "subwords": "bb"}, "update": 20, "epoch": 3,
        "target_tokens": 5000, "seconds": 100.0, "validation_seconds": 2.0, "averaged_updates": list(averaged),
        "products_in": "fp32", "date": "2026-11-29T10:00:00+00:00", "mlflow_run": "fedcba9876543210",
        "made_by": [{
            "commit": "0123456789abcdef",
            "machine": {"device": "some processor", "devices": 2, "flops_per_second": 2e11, "torch": "2"},
        }],
        "curve": {name: {"update": [20], "perplexity": [6.66]} for name in ("training", "valid")},
    }  # fmt: skip
    valid = {
        "sentences": 30,
        "bleu": {"score": bleu - 1, "signature": "tok:13a"},
        "bleu_paper": {"score": bleu, "signature": "tok:none, compounds split"},
    }
    return {
        "corpus": {"pairs": {"train": 400}},
        "scores": {"valid": valid},
        "splits": {"valid": {"perplexity": {"per_subword": perplexity}}, "test": {"cut_at_the_length_limit": 0}},
        "search": {"beam": 4},
        "speed": 200.0,
        "seconds": 8.0,
        "training": training,
    }


def small_rows() -> Scores:
    return {
        (name := f"table3-tiny-{row}{seed}"): score(name, perplexity + more, bleu + more)
        for row, (perplexity, bleu) in ROWS.items()
        for seed, more in zip(SEEDS, LUCK[row], strict=True)
    }


def results(measured: Scores, failures: dict[str, Any] | None = None, sweeps: dict[str, Any] | None = None) -> Results:
    return Results(PARAMS, measured, failures or {}, sweeps or {}, None, [], PRINTED, {})


def cells(page: str, experiment: str) -> list[list[str]]:
    """The cells of all table lines of an experiment: its scores, its differences, where it comes from."""
    return [line[2:-2].split(" | ") for line in page.splitlines() if line.startswith(f"| {experiment} |")]


def test_a_row_has_the_papers_figures_and_mean_and_spread_of_ours() -> None:
    scores, differ, origin = cells(markdown(table3(results(small_rows()))), "table3-tiny-A1")
    assert scores[2:] == ["3", "5.29", "7.00 ± 0.10", "24.9", "18.00 ± 0.10", "17.00 ± 0.10", "", "0.65"]
    assert differ[1] == "+7.5%"
    assert differ[2].startswith("+16.7% (+1")
    assert differ[3:6] == ["3 of 3", "yes", "-0.9"]
    assert differ[6].startswith("-2.00 (-2.3")
    assert differ[7:] == ["3 of 3", "yes"]
    assert origin[1:4] == ["1", "20", "1 min 40 s"]
    assert origin[-3:] == ["2026-11-29", "01234567", "fedcba98"]


def test_an_infinite_perplexity_is_in_no_mean() -> None:
    scores = small_rows()
    scores["table3-tiny-A1"]["splits"]["valid"]["perplexity"]["per_subword"] = math.inf
    row, *_ = cells(markdown(table3(results(scores))), "table3-tiny-A1")
    assert row[4] == "6.95 ± 0.07"  # of the two others


def test_another_sign_and_a_sign_that_is_noise_are_called_so() -> None:
    page = markdown(table3(results(small_rows())))
    (_, other, _), (_, big, _) = cells(page, "table3-tiny-A4"), cells(page, "table3-tiny-big")
    assert (other[4], other[8]) == ("no", "no, within noise")  # the paper: perplexity higher, BLEU lower than base
    assert (other[3], other[7]) == ("3 of 3", "1 of 3")
    assert (big[4], big[8]) == ("yes", "no")
    assert "**Perplexity**: of the 3 rows that differ from base both" in page
    assert "2 (0 of them within noise) have the paper's sign and 1 (0 of them within noise) the other" in page
    assert "1 (0 of them within noise) have the paper's sign and 2 (1 of them within noise) the other" in page
    assert page.count("(6 degrees of freedom)") == 2


def test_where_the_paper_or_we_have_the_same_as_base_there_is_no_sign_to_agree_with() -> None:
    assert sign(0.0, Difference(1.0, 3, 3, 0.5, 1.5)) == "–"
    assert sign(0.5, Difference(0.0, 3, 0, -0.5, 0.5)) == "–"
    assert sign(0.5, None) == ""


def test_with_too_few_seeds_nothing_is_called_noise() -> None:
    page = markdown(table3(results({name: one for name, one in small_rows().items() if "seed3" not in name})))
    assert cells(page, "table3-tiny-A4")[1][-1] == "yes"
    assert page.count("too few seeds to tell how much of this is luck (3 degrees of freedom)") == 2
    assert "2 have the paper's sign and 1 the other" in page
    assert "within noise" not in page


def test_one_score_may_have_enough_seeds_and_the_other_too_few() -> None:
    measured = small_rows()
    for name in measured:
        if "seed" in name:
            measured[name]["scores"]["valid"]["bleu_paper"]["score"] = None
    page = markdown(table3(results(measured)))
    assert "too few seeds to tell how much of this is luck (0 degrees of freedom)" in page
    assert "(6 degrees of freedom)" in page


def test_rows_that_did_not_run_are_blank_and_those_that_failed_say_why() -> None:
    measured = small_rows()
    del measured["table3-tiny-A1-seed3"], measured["table3-tiny-A4-seed2"]
    failure = {"stage": "train@x", "error": "no disk space left | free some", "date": "2026-11-30"}
    page = markdown(table3(results(measured, {"table3-tiny-A1-seed3": failure, "table3-A1": failure})))
    assert cells(page, "table3-tiny-A1")[0][2].startswith("2 of 3; table3-tiny-A1-seed3 failed in train@x: no disk")
    assert cells(page, "table3-tiny-A4")[0][2] == "2 of 3"
    assert cells(page, "table3-A1")[0][2].startswith("failed in train@x: no disk space left")
    assert cells(page, "base")[0][2:] == ["not run", "4.92", "", "25.8", "", "", "65", ""]
    assert cells(page, "B1")[0][2:] == ["not run", "5.16", "", "25.1", "", "", "58", ""]


def test_of_averaged_weights_nothing_is_taken_until_a_sweep_has_the_scores_of_the_last_ones() -> None:
    averaged = {"base": score("base", 4.0, 30.0, averaged=(10, 20))}
    assert cells(markdown(table3(results(averaged))), "base")[0][2:] == [
        "1; base has no sweep, and so no score of its last weights", "4.92", "", "25.8", "", "", "65", "0.65"
    ]  # fmt: skip
    windows = [{"last": 2, "bleu": 30.0, "bleu_paper": 30.0, "perplexity": 4.0},
               {"last": 1, "bleu": 24.0, "bleu_paper": 25.0, "perplexity": 6.6}]  # fmt: skip
    sweep: dict[str, Any] = {"averaging": windows, "training": {"date": averaged["base"]["training"]["date"]}}
    page = markdown(table3(results(averaged, sweeps={"base": sweep})))
    assert cells(page, "base")[0][2:] == ["1", "4.92", "6.60", "25.8", "25.00", "24.00", "65", "0.65"]
    sweep["training"]["date"] = "2026-01-01T10:00:00+00:00"  # of a training before this one
    assert cells(markdown(table3(results(averaged, sweeps={"base": sweep}))), "base")[0][6:8] == ["", ""]


def test_the_page_says_first_how_much_base_still_learned_at_the_end() -> None:
    measured = small_rows()
    assert "last quarter" not in markdown(table3(results(measured)))
    for seed, start in zip(SEEDS, (12.0, 13.0, 14.0), strict=True):
        valid = {"update": [5, 10, 15, 20], "perplexity": [start - update / 4 for update in (5, 10, 15, 20)]}
        measured[f"table3-tiny-base{seed}"]["training"]["curve"] = {"valid": valid}
    page = markdown(table3(results(measured)))
    assert (
        "## At laptop size\n\n**Rows are compared far from convergence**: base after 240 updates of about 400 tokens, "
        "in whose last quarter the perplexity of base on the valid split went from 8.25 to 7.00 (seed 1), from 9.25 to "
        "8.00 (seed 2), from 10.25 to 9.00 (seed 3)."
    ) in page
    measured["table3-tiny-base"]["training"]["curve"]["valid"]["perplexity"][-1] = 8.2
    page = markdown(table3(results(measured)))
    assert "convergence" not in page
    assert "In the last quarter of its updates the perplexity of base on the valid split went from 8.25 to 8.20" in page


def test_of_two_rows_the_interval_is_that_of_the_paired_t_test() -> None:
    base, other = [1.0, 2.0, 4.0, 3.0, 5.0, 9.0], [1.5, 2.0, 4.5, 4.5, 5.0, 9.5]
    found = differences({"base": dict(enumerate(base)), "A1": dict(enumerate(other))})["A1"]
    interval = ttest_rel(other, base).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([interval.low, interval.high])
    assert [found.value, found.same_sign, found.seeds] == pytest.approx([0.5, 4, 6])
    assert found.may_be_luck


def test_more_rows_have_wider_intervals_since_all_hold_at_once() -> None:
    values = {"base": dict(enumerate([1.0, 2.0, 4.0, 3.0])), "A1": dict(enumerate([2.5, 3.0, 5.5, 4.0]))}
    values["A2"] = dict(enumerate([0.5, 2.0, 4.5, 3.5]))
    deviation, freedom = residual(values)
    high = differences(values)["A1"].high
    assert high is not None
    t = 2.9687  # of 6 degrees of freedom, 1.25% above it: 5% by two rows and two sides
    assert freedom == 6
    assert high - 1.25 == pytest.approx(t * deviation * math.sqrt(2 / 4), rel=1e-4)


def test_rows_may_lack_seeds_and_only_those_of_both_are_compared() -> None:
    base = {1: 3.0, 2: 9.0, 3: 5.0, 4: 4.0, 5: 7.0, 6: 6.0}
    luck = {1: 0.3, 2: -0.3, 3: 0.1, 4: -0.1, 5: 0.2, 6: -0.2}
    values = {
        "base": base,
        "A1": {seed: base[seed] + 1 + luck[seed] for seed in base},
        "A2": {1: 5.0, 2: 11.5, 9: 70.0},
    }
    values["A3"] = {9: 60.0}
    assert residual(values)[1] == 16 - 4 - 7 + 1
    found = differences(values)
    assert found.keys() == {"A1", "A2"}
    assert [found["A2"].value, found["A2"].seeds] == pytest.approx([2.25, 2])
    wide, narrow = (one.high - one.value for one in (found["A2"], found["A1"]) if one.high is not None)
    assert wide == pytest.approx(narrow * math.sqrt(3))


def test_what_row_and_seed_explain_is_no_luck() -> None:
    rows, seeds = {"base": 3.0, "A1": 4.5, "A2": 1.0}, {1: 0.0, 2: 5.0, 3: -7.0, 4: 2.0}
    values = {row: {seed: rows[row] + more for seed, more in seeds.items()} for row in rows}
    del values["base"][2], values["A2"][3]
    assert residual(values) == pytest.approx((0.0, 10 - 3 - 4 + 1), abs=1e-9)
    assert residual({"base": {1: 5.0}})[1] == 0


def test_settings_and_seed_are_those_of_the_training_and_scores_of_other_settings_are_left_out() -> None:
    measured = small_rows()
    measured["table3-tiny-A1-seed2"]["training"]["model"]["heads"] = 8
    measured["table3-tiny-A4-seed2"]["training"]["training"]["seed"] = 7
    del measured["table3-tiny-A1"]["training"]["training"]["bpe_dropout"]  # from before there was such a setting
    page = markdown(table3(results(measured)))
    (state, *_), (other, *_) = (row[2:] for row in (cells(page, f"table3-tiny-{row}")[0] for row in ("A1", "A4")))
    assert state == "2 of 3; table3-tiny-A1-seed2 is of other settings than params.yaml"
    assert other == "2 of 3; table3-tiny-A4-seed2 is of other settings than params.yaml"
    assert cells(page, "table3-tiny-A1")[1][3] == "2 of 2"
    assert [line[1] for line in cells(page, "table3-tiny-A1-seed3")] == ["3"]
    assert not cells(page, "table3-tiny-A1-seed2")


def test_what_failed_after_it_was_scored_is_said() -> None:
    failure = {"stage": "train@x", "error": "no room | free some", "date": "2026-11-30"}
    page = markdown(table3(results(small_rows(), {"table3-tiny-A1": failure})))
    assert "**table3-tiny-A1** failed in train@x: no room | free some (2026-11-30); what the reports have" in page


def test_what_is_smaller_than_in_the_paper_is_named_from_the_settings() -> None:
    page = markdown(table3(results({})))
    assert "base differs by updates 240 (100,000), warmup 100 (4,000); by the learning rate" in page


def test_the_time_by_the_clock_has_pauses_and_what_ran_side_by_side_once() -> None:
    first, second, third = (score("base", 6.0, 20.0) for _ in range(3))
    second["training"]["date"] = "2026-11-29T10:00:50+00:00"
    third["training"]["date"] = "2026-11-29T12:00:00+00:00"
    assert by_the_clock([second, third, first]) == 2 * 3600 + 100


def test_rows_of_table_3_are_in_no_other_table_but_base_and_big() -> None:
    assert list(results({}).translation.params.experiments) == ["base", "big", "other"]


def test_the_picture_shows_what_was_measured(tmp_path: Path) -> None:
    sizes = []
    for measured in ({}, small_rows()):
        draw_table3(results(measured), tmp_path / "a.png")
        sizes.append(imread(tmp_path / "a.png").mean(2) < 0.5)
    nothing, rows = (dark.sum() for dark in sizes)
    assert rows > 1.5 * nothing
