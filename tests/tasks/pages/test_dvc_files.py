"""What other programs read of the scores."""

import csv
import json
from dataclasses import replace

from tasks.common.settings import read_params
from tasks.pages.dvc_files import curves, metrics
from tasks.results.stored import Results
from tasks.scoring.bleu import NOT_APPLICABLE
from tests.tasks.pages.test_table2 import scores
from tests.workspace import ROOT


def test_metrics_are_the_test_splits_by_experiment() -> None:
    found = json.loads(metrics({"e": scores()})["e"])
    assert found["bleu"] == 31.416
    assert found["perplexity"] == found["valid_perplexity"] == 5.012
    assert found["training_hours"] == 0.0278
    assert "f1" not in found


def test_a_score_that_does_not_apply_is_left_out() -> None:
    score = scores()
    score["scores"]["test"]["bleu_paper"] = NOT_APPLICABLE
    assert "bleu_paper" not in json.loads(metrics({"e": score})["e"])


def test_a_parser_has_f1() -> None:
    score = scores()
    score["scores"]["test"] = {"f1": 78.93}
    assert json.loads(metrics({"e": score})["e"])["f1"] == 78.93


def test_curves_have_a_line_for_each_validation() -> None:
    names = ["tiny", "base", "table3-B1", "table3-tiny-base", "table3-tiny-A1-seed2"]
    results = Results(read_params(ROOT / "params.yaml"), {name: scores() for name in names}, {}, {}, None, [], {}, {})
    rows = list(csv.DictReader(curves(results).splitlines()))
    assert rows == [{"experiment": name, "update": "20", "perplexity": "6.0"} for name in ("tiny", "base")]
    assert curves(replace(results, scores={})) == "experiment,update,perplexity\n"
