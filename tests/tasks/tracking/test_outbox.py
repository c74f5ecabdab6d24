"""What is logged is delivered in order, once, by whichever process, whatever fails between."""

import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from tasks.tracking.outbox import Courier, Entry, Outbox, Refused


def pending(path: Path) -> list[Entry]:
    """What a process that starts now would deliver."""
    found: list[Entry] = []
    outbox = Outbox(path)
    while outbox.deliver_next(found.append):
        pass
    return found


def test_entries_are_delivered_once_and_in_order(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "runs/e/o.jsonl")
    for number in (1, 2):
        outbox.put({"number": number})
    assert pending(outbox.path) == [{"number": 1}, {"number": 2}]
    outbox.put({"number": 3})
    assert pending(outbox.path) == [{"number": 3}]
    assert not outbox.deliver_next(pytest.fail)
    assert outbox.delivered == outbox.end


def test_what_failed_stays_and_what_was_refused_does_not(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "o.jsonl")
    for number in (1, 2):
        outbox.put({"number": number})

    def fail(entry: Entry) -> None:
        raise OSError("away")

    def refuse(entry: Entry) -> None:
        raise Refused("no such file")

    with pytest.raises(OSError, match="away"):
        outbox.deliver_next(fail)
    with pytest.raises(Refused):
        outbox.deliver_next(refuse)
    assert pending(outbox.path) == [{"number": 2}]


def test_one_process_delivers_at_a_time(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "o.jsonl")
    outbox.put({"number": 1})
    with FileLock(tmp_path / "o.lock"), pytest.raises(Timeout):
        outbox.deliver_next(pytest.fail)


def test_a_torn_line_costs_no_other_one(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    Outbox(path).put({"number": 1})
    with path.open("a") as file:
        file.write('{"num')
    outbox = Outbox(path)
    outbox.put({"number": 2})
    assert pending(path) == [{"number": 1}, {"number": 2}]


def append(path: Path, first: int) -> None:
    outbox = Outbox(path)
    for number in range(first, first + 200):
        outbox.put({"number": number, "text": "x" * 5000})


def test_processes_may_append_while_one_delivers(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    start = multiprocessing.get_context("spawn")
    writers = [start.Process(target=append, args=(path, first)) for first in (0, 200)]
    for writer in writers:
        writer.start()
    outbox, found = Outbox(path), []
    while any(writer.is_alive() for writer in writers):
        outbox.deliver_next(lambda entry: found.append(entry["number"]))
    found += [entry["number"] for entry in pending(path)]
    assert sorted(found) == list(range(400))
    assert [number for number in found if number < 200] == list(range(200))


def test_a_courier_takes_entries_while_the_server_hangs_and_tries_again_when_it_has_failed(tmp_path: Path) -> None:
    begun, answer, got = threading.Event(), threading.Event(), []
    warnings: list[str] = []

    def deliver(entry: Entry) -> None:
        if not answer.is_set():
            begun.set()
            answer.wait()
            raise OSError("no answer")
        got.append(entry["number"])

    courier = Courier(Outbox(tmp_path / "o.jsonl"), [], deliver, lambda error: warnings.append(str(error)))
    courier.put({"number": 1})
    begun.wait()
    for number in (2, 3):
        courier.put({"number": number})  # returns, or this test would never set `answer`
    assert got == []
    answer.set()
    while len(got) < 3:
        courier.flush()
    courier.close()
    assert (got, warnings) == ([1, 2, 3], ["no answer"])


def test_what_others_were_left_with_comes_after_its_own(tmp_path: Path) -> None:
    left = Outbox(tmp_path / "left.jsonl")
    left.put({"number": 2})
    own, got, done = Outbox(tmp_path / "o.jsonl"), [], threading.Event()
    own.put({"number": 1})

    def deliver(entry: Entry) -> None:
        got.append(entry["number"])
        if entry["number"] == 2:
            done.set()

    courier = Courier(own, [Outbox(left.path)], deliver, lambda error: pytest.fail(str(error)))
    assert done.wait(100)
    courier.close()
    assert got == [1, 2]


def test_what_another_process_delivers_itself_keeps_nothing_else_back(tmp_path: Path) -> None:
    left = [Outbox(tmp_path / f"{name}.jsonl") for name in ("busy", "free")]
    for outbox in left:
        outbox.put({"from": outbox.path.stem})
    got, done = [], threading.Event()

    def deliver(entry: Entry) -> None:
        got.append(entry["from"])
        done.set()

    own = Outbox(tmp_path / "o.jsonl")
    with FileLock(tmp_path / "busy.lock"):
        courier = Courier(own, [Outbox(outbox.path) for outbox in left], deliver, lambda error: pytest.fail(str(error)))
        assert done.wait(100)
        courier.close()
    assert got == ["free"]


def test_a_name_that_is_no_text_can_be_logged(tmp_path: Path) -> None:
    """As of a folder in Latin-1, in an error line."""
    outbox = Outbox(tmp_path / "o.jsonl")
    outbox.put({"error": "caf\udce9: no such file", "loss": float("inf")})
    assert pending(outbox.path) == [{"error": "caf\udce9: no such file", "loss": float("inf")}]


def test_the_file_tells_people_what_was_logged(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    Outbox(path).put({"kind": "metrics", "values": {"loss": float("nan"), "naïve": 1.5}})
    pending(path)
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["values"]["naïve"] == 1.5
    assert second == {"delivered": len(path.read_text().splitlines()[0].encode()) + 1}
