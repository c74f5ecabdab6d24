"""Where a training stands, as it is told every few seconds."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from transformer.telemetry import display
from transformer.telemetry.display import describe
from transformer.trainer import Trainer

Make = Callable[..., Trainer]


def statuses(trainer: Trainer) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    trainer.tell = told.append
    trainer.run()
    return told


def test_a_short_training_tells_once_at_its_end(make_trainer: Make, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = make_trainer(validate_every=6)
    (status,) = statuses(trainer)
    assert (status["update"], status["updates"], status["fraction"], status["seconds_left"]) == (12, 12, 1.0, 0.0)
    assert status["valid_perplexity"] == trainer.progress["curve"][-1]["valid_perplexity"]
    expected = (
        r"update 12 of 12: loss \d\.\d{3}, valid perplexity \d+\.\d\d, learning rate \d\.\d\de-0\d, "
        r"[\d,]+ target tokens/s, padding \d+\.\d%, waiting for data \d+\.\d%, peak memory \d+\.\d\d GB, "
        r"finish about \d{4}-\d\d-\d\d \d\d:\d\d \w+"
    )
    assert re.fullmatch(expected, status["text"])
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if re.match(r"train: update 6 of 12: loss .*valid perplexity", line)]
    assert f"train: {status['text']}" in lines


def test_what_is_told_between_points_of_the_curve(make_trainer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once after each update, as if many seconds had gone by."""
    monkeypatch.setattr(display, "SECONDS_BETWEEN", -1.0)
    trainer = make_trainer(updates=402, validate_every=201)  # each second update is a point
    told = statuses(trainer)
    assert [status["update"] for status in told] == list(range(1, 403))
    assert "valid_perplexity" not in told[199]
    assert told[250]["valid_perplexity"] == told[200]["valid_perplexity"]
    assert told[200]["seconds_left"] > 0
    point = next(point for point in trainer.progress["curve"] if point["update"] == 202)
    assert told[201]["loss"] == point["loss"]
    assert told[202]["loss"] != point["loss"]
    assert len({status["text"] for status in told}) == 402


def test_utilisation_is_named_where_there_is_one() -> None:
    status = {
        "update": 1, "updates": 2, "loss": 1.0, "learning_rate": 0.001, "tokens_per_second": 1e6, "utilisation": 0.412,
        "padding_share": 0.0, "data_wait_share": 0.0, "peak_memory_bytes": 0, "finish": "2026-11-29T10:00:00+00:00",
    }  # fmt: skip
    assert "1,000,000 target tokens/s, 41.2% of peak FLOP/s, padding" in describe(status)
