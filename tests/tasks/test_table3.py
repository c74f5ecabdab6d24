"""Table 3: the paper's and ours side by side, and what is noise called so."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.figures.table3 import draw_table3
from tasks.results import PAPER, Results, Scores
from tasks.settings import Params
from tasks.table3 import sign, table3
from tasks.variations import Difference, differences, pooled_deviation
from tests.workspace import PRESETS, corpus_settings, experiment_settings

PRINTED = yaml.safe_load(PAPER.read_text())
SEEDS = {"": 0.0, "-seed2": 0.1, "-seed3": -0.1}  # and what each adds to a score
# Perplexity and BLEU of a row, by which it differs from base (6.0 and 20.0) beyond that, as the paper's row or not.
ROWS = {"base": (6.0, 20.0), "A1": (7.0, 18.0), "A4": (5.0, 20.02), "big": (5.5, 19.0)}


def experiments() -> dict[str, Any]:
    small = {f"table3-tiny-{row}{seed}": experiment_settings("c") for row in ROWS for seed in SEEDS}
    plain = {name: experiment_settings("c") for name in ("base", "table3-A1", "big", "other")}
    return {**plain, **small}


PARAMS = Params.model_validate({
    "corpora": {"c": corpus_settings(Path("text"))}, "presets": PRESETS, "experiments": experiments()
})  # fmt: skip


def score(perplexity: float, bleu: float, averaged: tuple[int, ...] = (20,)) -> dict[str, Any]:
    training = {
        "experiment": "e", "corpus": "c", "model": {"layers": 1}, "training": {"updates": 20}, "vocabulary": 90,
        "parameters": 654_321, "hashes": {"shards": "aa", "subwords": "bb"}, "update": 20, "epoch": 3,
        "target_tokens": 5000, "seconds": 100.0, "validation_seconds": 2.0, "averaged_updates": list(averaged),
        "products_in": "fp32", "date": "2026-11-29T10:00:00+00:00", "mlflow_run": "fedcba9876543210",
        "made_by": [{
            "commit": "0123456789abcdef",
            "machine": {"device": "some processor", "devices": 2, "flops_per_second": 2e11, "torch": "2"},
        }],
        "curve": [{"update": 20, "perplexity": 5.0, "valid_perplexity": 6.66}],
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
        f"table3-tiny-{row}{seed}": score(perplexity + more, bleu + more)
        for row, (perplexity, bleu) in ROWS.items()
        for seed, more in SEEDS.items()
    }


def results(measured: Scores, failures: dict[str, Any] | None = None, sweeps: dict[str, Any] | None = None) -> Results:
    return Results(PARAMS, measured, failures or {}, sweeps or {}, None, [], PRINTED, {})


def cells(page: str, experiment: str) -> list[list[str]]:
    """The cells of all table lines of an experiment: its scores, its differences, where it comes from."""
    return [line[2:-2].split(" | ") for line in page.splitlines() if line.startswith(f"| {experiment} |")]


def test_a_row_has_the_papers_figures_and_mean_and_spread_of_ours() -> None:
    scores, differ, origin = cells(table3(results(small_rows())), "table3-tiny-A1")
    assert scores[2:] == ["3", "5.29", "7.00 ± 0.10", "24.9", "18.00 ± 0.10", "17.00 ± 0.10", "", "0.65"]
    assert differ[1] == "+7.5%"
    assert differ[2] == "+16.7% (+12.0% to +21.5%)"
    assert differ[3:5] == ["yes", "-0.9"]
    assert differ[5].startswith("-2.00 (-2.2")
    assert differ[6] == "yes"
    assert origin[1:4] == ["1", "20", "1 min 40 s"]
    assert origin[-3:] == ["2026-11-29", "01234567", "fedcba98"]


def test_another_sign_and_a_sign_that_is_noise_are_called_so() -> None:
    page = table3(results(small_rows()))
    (_, other, _), (_, big, _) = cells(page, "table3-tiny-A4"), cells(page, "table3-tiny-big")
    assert (other[3], other[6]) == ("no", "no, within noise")  # the paper: perplexity higher, BLEU lower than base
    assert (big[3], big[6]) == ("yes", "no")
    assert "**Perplexity**: of the 3 rows that ran" in page
    assert "2 (0 of them within noise) have the paper's sign and 1 (0 of them within noise) the other" in page
    assert "1 (0 of them within noise) have the paper's sign and 2 (1 of them within noise) the other" in page
    assert "0.10 BLEU, over all rows (8 degrees of freedom)" in page


def test_where_the_paper_prints_the_same_as_for_base_there_is_no_sign_to_agree_with() -> None:
    assert sign(0.0, Difference(1.0, 0.5, 1.5)) == "–"
    assert sign(0.5, None) == ""


def test_without_a_second_seed_nothing_is_called_noise() -> None:
    page = table3(results({name: one for name, one in small_rows().items() if "seed" not in name}))
    assert cells(page, "table3-tiny-A4")[1][-1] == "no"
    assert "nothing tells how much of a difference is luck" in page
    assert "2 have the paper's sign and 1 the other" in page
    assert "within noise" not in page


def test_rows_that_did_not_run_are_blank_and_those_that_failed_say_why() -> None:
    measured = small_rows()
    del measured["table3-tiny-A1-seed3"], measured["table3-tiny-A4-seed2"]
    failure = {"stage": "train@x", "error": "no disk space left | free some", "date": "2026-11-30"}
    page = table3(results(measured, {"table3-tiny-A1-seed3": failure, "table3-A1": failure}))
    assert cells(page, "table3-tiny-A1")[0][2].startswith("2 of 3; table3-tiny-A1-seed3 failed in train@x: no disk")
    assert cells(page, "table3-tiny-A4")[0][2] == "2 of 3"
    assert cells(page, "table3-A1")[0][2].startswith("failed in train@x: no disk space left")
    assert cells(page, "base")[0][2:] == ["not run", "4.92", "", "25.8", "", "", "65", ""]
    assert cells(page, "B1")[0][2:] == ["not run", "5.16", "", "25.1", "", "", "58", ""]


def test_of_averaged_weights_only_the_perplexity_of_the_last_ones_is_taken_until_a_sweep_has_their_bleu() -> None:
    averaged = {"base": score(4.0, 30.0, averaged=(10, 20))}
    assert cells(table3(results(averaged)), "base")[0][2:] == ["1", "4.92", "6.66", "25.8", "", "", "65", "0.65"]
    windows = [{"last": 2, "bleu": 30.0, "bleu_paper": 30.0, "perplexity": 4.0},
               {"last": 1, "bleu": 24.0, "bleu_paper": 25.0, "perplexity": 6.6}]  # fmt: skip
    sweep = {"averaging": windows, "training": {"date": averaged["base"]["training"]["date"]}}
    page = table3(results(averaged, sweeps={"base": sweep}))
    assert cells(page, "base")[0][2:] == ["1", "4.92", "6.60", "25.8", "25.00", "24.00", "65", "0.65"]
    sweep["training"]["date"] = "2026-01-01T10:00:00+00:00"  # of a training before this one
    assert cells(table3(results(averaged, sweeps={"base": sweep})), "base")[0][6:8] == ["", ""]


def test_the_page_says_how_much_base_still_learned_at_the_end() -> None:
    measured = small_rows()
    assert "still falls" not in table3(results(measured))
    curve = [{"update": update, "valid_perplexity": 12.0 - update / 4} for update in (5, 10, 15, 20)]
    measured["table3-tiny-base"]["training"]["curve"] = curve
    assert (
        "From update 15 to the last, 20, the perplexity of table3-tiny-base on the valid split went from 8.25 to 7.00"
        in (table3(results(measured)))
    )


def test_intervals_are_dunnetts() -> None:
    """For 2 treatments and 6 degrees of freedom Dunnett (1964) has 2.86 as two-sided 5% value, from 3 a group."""
    found = differences({"base": [1.0, 2.0, 3.0], "A1": [4.0, 5.0, 6.0], "A2": [1.5, 2.5, 3.5]})
    assert found["A1"].value == 3.0
    assert found["A1"].high is not None
    assert found["A1"].high - 3.0 == pytest.approx(2.86 * math.sqrt(2 / 3), abs=0.01)
    assert not found["A1"].may_be_luck
    assert found["A2"].may_be_luck


def test_the_spread_is_that_of_all_rows_with_more_seeds_than_one() -> None:
    assert pooled_deviation({"base": [1.0, 3.0], "A1": [5.0, 7.0, 9.0], "A2": [4.0]}) == (
        pytest.approx(10**0.5 / 3**0.5),
        3,
    )


def test_rows_of_table_3_are_in_no_other_table_but_base_and_big() -> None:
    assert list(results({}).translation.params.experiments) == ["base", "big", "other"]


@pytest.mark.parametrize("measured", [{}, small_rows()])
def test_the_picture_is_the_same_for_the_same_scores(measured: Scores, tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        draw_table3(results(measured), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").stat().st_size > 5000
