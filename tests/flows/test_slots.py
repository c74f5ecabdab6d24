from typing import Any

import pytest

from flows import slots
from flows.errors import BadInput
from flows.slots import Slots, gpus, number_of_slots, share

STAGES = {
    "corpus@a": [],
    "corpus@b": [],
    "train@one": ["corpus@a"],
    "train@two": ["corpus@a"],
    "train@three": ["corpus@b"],
    "average@one": ["train@one"],
    "average@one-last": ["train@one"],
    "score@one": ["average@one"],
    "score@one-last": ["average@one-last"],
    "score@two": ["train@two"],
    "score@three": ["train@three"],
}
IN_SLOTS = {name for name in STAGES if not name.startswith("corpus")}


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "cores", lambda: 8)
    for name in ("OMP_NUM_THREADS", "PET_NPROC_PER_NODE", "CUDA_VISIBLE_DEVICES", slots.VARIABLE):
        monkeypatch.delenv(name, raising=False)


def run_all(left: Slots, fail: str = "") -> list[str]:
    """The order in which stages run of which the one started first ends first."""
    order: list[str] = []
    running: list[str] = []
    while True:
        running += left.start()
        assert set(running) == set(left.running)
        if not running:
            return order
        order.append(running.pop(0))
        left.end(order[-1], order[-1] != fail)


def test_what_is_trained_is_scored_before_the_next_training_begins() -> None:
    assert run_all(Slots(STAGES, IN_SLOTS, 1)) == [
        "corpus@a", "corpus@b",
        "train@one", "average@one", "score@one", "average@one-last", "score@one-last",
        "train@two", "score@two", "train@three", "score@three",
    ]  # fmt: skip


def test_trainings_begin_while_what_needs_no_slot_still_runs() -> None:
    left = Slots(STAGES, IN_SLOTS, 1)
    assert left.start() == ["corpus@a", "corpus@b"]
    left.end("corpus@a", True)
    assert left.start() == ["train@one"]
    left.end("corpus@b", True)
    assert left.start() == []
    left.end("train@one", True)
    assert left.start() == ["average@one"]


def test_each_slot_has_one_stage_and_falls_free_again() -> None:
    left = Slots(STAGES, IN_SLOTS, 2)
    left.start()
    left.end("corpus@a", True)
    left.end("corpus@b", True)
    assert left.start() == ["train@one", "train@two"]
    assert left.running == {"train@one": 0, "train@two": 1}
    left.end("train@one", True)
    assert left.start() == ["average@one"]
    assert left.running == {"train@two": 1, "average@one": 0}


def test_what_needs_no_slot_is_as_many_as_there_are_cores() -> None:
    stages: dict[str, list[str]] = {f"corpus@{number}": [] for number in range(20)}
    assert len(Slots(stages, set(), 1).start()) == 8


def test_a_failed_stage_stops_only_what_needs_it() -> None:
    order = run_all(Slots(STAGES, IN_SLOTS, 1), fail="average@one")
    assert set(STAGES) - set(order) == {"score@one"}


def test_inputs_that_are_up_to_date_are_not_waited_for() -> None:
    assert Slots({"score@one": ["average@one"]}, IN_SLOTS, 1).start() == ["score@one"]


def test_the_number_is_1_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert number_of_slots() == 1
    monkeypatch.setenv(slots.VARIABLE, "12")
    assert number_of_slots() == 12


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5"])
def test_what_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(slots.VARIABLE, value)
    with pytest.raises(BadInput, match=f"^REPRODUCE_SIDE_BY_SIDE={value}: not a number of trainings"):
        number_of_slots()


@pytest.mark.parametrize(
    ("visible", "count", "shares"),
    [
        ("0,1,2,3", 2, [("0,1", "2", "2"), ("2,3", "2", "2")]),
        ("4,5", 2, [("4", "1", "4"), ("5", "1", "4")]),
        ("0,1,2", 2, [("0", "1", "4"), ("1,2", "2", "2")]),
        ("7", 4, [("7", "1", "2")] * 4),
        ("", 3, [(None, "1", "2")] * 3),
        ("", 16, [(None, "1", "1")] * 16),
    ],
)
def test_a_slot_has_its_gpus_ranks_and_threads(
    monkeypatch: pytest.MonkeyPatch, visible: str, count: int, shares: list[tuple[str | None, str, str]]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    names = ("CUDA_VISIBLE_DEVICES", "PET_NPROC_PER_NODE", "OMP_NUM_THREADS")
    assert [tuple(map(share(slot, count).get, names)) for slot in range(count)] == shares


def test_one_slot_leaves_all_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert share(0, 1) == {}


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("PET_NPROC_PER_NODE", "2")
    assert share(0, 2) == {"PET_NPROC_PER_NODE": "2", "OMP_NUM_THREADS": "2"}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert share(0, 2) == {"PET_NPROC_PER_NODE": "2", "OMP_NUM_THREADS": "1"}
    monkeypatch.setenv("PET_NPROC_PER_NODE", "gpu")
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert share(0, 2) == {"PET_NPROC_PER_NODE": "gpu", "OMP_NUM_THREADS": "1"}


def test_gpus_are_those_that_nvidia_smi_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'GPU 0: A (UUID: x)'\necho 'GPU 1: A (UUID: y)'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert gpus() == ["0", "1"]
    (tmp_path / "nvidia-smi").unlink()
    assert gpus() == []
