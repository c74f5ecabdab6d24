"""Scores and curves in the plain forms that other programs read and compare. Part of the stage `report`.

reports/metrics/E.json  {name: number}, which `dvc metrics show` prints as one row for each file, a column for each name
reports/curves.csv      experiment, update, perplexity on the valid split, which `dvc plots show` draws; without rows of
                        Table 3 but base and big, as there are more of them than colours
"""

import csv
import io
from typing import Any

from tasks.results.stored import Results, Scores
from transformer.io.files import to_json

DIGITS = 4


def metrics(scores: Scores) -> dict[str, str]:
    """The figures of each experiment that was measured, as JSON; all but the times are those of the test split."""
    return {name: to_json(_figures(score)) + "\n" for name, score in scores.items()}


def _figures(score: dict[str, Any]) -> dict[str, float]:
    test, training = score["scores"]["test"], score["training"]
    measured = {
        **{name: test[name]["score"] for name in ("bleu", "bleu_paper", "chrf", "ter") if name in test},
        **{name: test[name] for name in ("f1",) if name in test},
        "perplexity": score["splits"]["test"]["perplexity"]["per_subword"],
        "valid_perplexity": score["splits"]["valid"]["perplexity"]["per_subword"],
        "training_hours": training["seconds"] / 3600,
        "sentences_per_second": score["speed"],
    }
    return {name: round(value, DIGITS) for name, value in measured.items() if value is not None}


def curves(results: Results) -> str:
    """The learning curves as CSV."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["experiment", "update", "perplexity"])
    for name, score in results.scores.items():
        if name in results.params.variations:
            continue
        valid = score["training"]["curve"]["valid"]
        writer.writerows([name, *point] for point in zip(valid["update"], valid["perplexity"], strict=True))
    return lines.getvalue()
