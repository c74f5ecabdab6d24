"""What a training reports of itself, against sums made by hand."""

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.transformer.conftest import stop_after
from transformer.batches import collate
from transformer.telemetry.meter import Meter
from transformer.trainer import Stopped, Trainer

Make = Callable[..., Trainer]
CPU = torch.device("cpu")


@pytest.fixture
def trainer(make_trainer: Make) -> Trainer:
    return make_trainer(validate_every=4)


def test_padding_is_counted_on_both_sides(trainer: Trainer) -> None:
    pairs = trainer.train_pairs
    chosen = np.array([int(pairs.source_lengths.argmin()), int(pairs.source_lengths.argmax())])
    short, long = (int(pairs.source_lengths[i]) + 1 for i in chosen)
    assert short < long
    meter = Meter({}, CPU, ranks=1, peak=None)
    meter.add_part(collate(pairs, chosen), 10.0, torch.tensor(8.0), torch.tensor(6.0))
    meter.add_update(0.1, short + long, short + long)
    # In this task both sides have the same lengths.
    for side in ("source", "target"):
        assert meter.totals[f"{side}_positions"] == 2 * long
        assert meter.totals[f"{side}_padding"] == long - short
    metrics = meter.read(together=True)
    assert metrics["padding_share"] == pytest.approx((long - short) / (2 * long))
    assert metrics["loss"] == pytest.approx(8 / (short + long))
    assert metrics["perplexity"] == pytest.approx(math.exp(6 / (short + long)))


def test_rates_are_of_the_window_and_the_summary_of_everything(trainer: Trainer) -> None:
    totals: dict[str, Any] = {"seconds": 10.0, "data_seconds": 1.0, "target_tokens": 500}  # from before a resume
    meter = Meter(totals, CPU, ranks=2, peak=100.0)
    batch = collate(trainer.train_pairs, np.arange(3))
    meter.add_part(batch, 240.0, torch.tensor(1.0), torch.tensor(1.0))
    meter.add_update(0.25, 30, 40)
    totals["seconds"] += 4.0
    totals["data_seconds"] += 0.5
    metrics = meter.read(together=False)
    assert metrics["tokens_per_second"] == 10.0
    assert metrics["data_wait_share"] == 0.125
    assert metrics["learning_rate"] == 0.25
    assert metrics["utilisation"] == pytest.approx(2 * 240 / (4 * 2 * 100))
    assert meter.summary()["tokens_per_second"] == pytest.approx(540 / 14)
    meter.restart()
    meter.add_part(batch, 0.0, torch.tensor(3.0), torch.tensor(3.0))
    meter.add_update(0.5, 30, 40)
    totals["seconds"] += 1.0
    assert meter.read(together=False)["tokens_per_second"] == 40.0


def test_no_utilisation_is_claimed_where_no_peak_is_known(trainer: Trainer) -> None:
    trainer.run()
    assert trainer.meter.peak is None  # a CPU
    assert not [point for point in trainer.progress["curve"] if "utilisation" in point]


def test_validation_and_saving_are_not_training_time(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of these, by a clock that they put forward, are in none of the seconds that the updates took."""
    passed, clock, validate, save = [0.0], time.monotonic, trainer.validate, trainer._checkpoint
    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed[0])

    def after_an_hour(work: Callable[[], Any]) -> Callable[[], Any]:
        def slow() -> Any:
            passed[0] += 3600
            return work()

        return slow

    monkeypatch.setattr(trainer, "validate", after_an_hour(validate))
    monkeypatch.setattr(trainer, "_checkpoint", after_an_hour(save))
    progress = trainer.run()
    assert progress["validation_seconds"] > 3600
    assert progress["seconds"] < 3600


def test_waiting_for_data_is_seen(trainer: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = trainer._parts
    monkeypatch.setattr(trainer, "_parts", lambda *batch: time.sleep(0.1) or parts(*batch))
    progress = trainer.run()
    assert progress["data_seconds"] >= 0.1  # the first batch, at least, is waited for
    assert progress["data_wait_share"] == pytest.approx(progress["data_seconds"] / progress["seconds"])
    assert progress["seconds"] > progress["data_seconds"]


def test_totals_go_on_after_a_resume(make_trainer: Make) -> None:
    whole = make_trainer("whole").run()
    first = make_trainer("parts")
    stop_after(first, 5)
    with pytest.raises(Stopped):
        first.run()
    before = dict(first.progress)
    second = make_trainer("parts").run()
    for name in ("source_tokens", "target_tokens", "flops", "source_positions", "target_padding"):
        assert 0 < before[name] < second[name] == whole[name]
    assert before["seconds"] < second["seconds"]
    assert (second["epoch"], second["batch"]) == (whole["epoch"], whole["batch"])
    assert second["peak_memory_bytes"] > 1e7
    assert second["padding_share"] == whole["padding_share"]


def test_a_checkpoint_without_these_totals_is_continued(make_trainer: Make) -> None:
    first = make_trainer()
    stop_after(first, 5)
    for name in ("data_seconds", "source_padding", "peak_memory_bytes"):
        del first.progress[name]
    first.meter.totals = {}
    first.meter.restart()
    with pytest.raises(Stopped):
        first.run()
    progress = make_trainer().run()
    assert progress["update"] == 12
    assert 0 < progress["padding_share"] < 1


def test_no_thread_outlives_a_training(make_trainer: Make) -> None:
    make_trainer("good").run()
    bad = make_trainer("bad")
    bad.step = None  # type: ignore[assignment]
    with pytest.raises(TypeError) as caught:
        bad.run()
    assert caught.tb  # as long as it is held, so is all that the run had in hand
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_an_update_made_by_hand_gives_what_the_run_gives(make_trainer: Make) -> None:
    run = make_trainer("run", updates=3)
    run.run()
    by_hand = make_trainer("hand", updates=3)
    for work in by_hand._batches():
        by_hand.step(work.update, work.indices)
    for name, tensor in run.model.state_dict().items():
        assert torch.equal(tensor, by_hand.model.state_dict()[name])
