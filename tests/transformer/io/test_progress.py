"""What a log shows of work that takes a while."""

import time

import pytest

from transformer.io import progress
from transformer.io.progress import bar, every, waiting


@pytest.mark.parametrize(
    ("total", "done", "begins", "left"),
    [
        (8, 8, "compare: 8/8 line ", True),
        (2000, 2000, "compare: 2.00k/2.00k line ", True),
        (None, 3, "compare: 3.00 line ", False),
    ],
)
def test_a_line_of_a_log(
    total: int | None, done: int, begins: str, left: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said of a total or of the time left where nobody knows them."""
    with bar(total, "compare", "line") as shown:
        shown.update(done)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(begins)
    assert (last.endswith(" left"), "?" in last) == (left, False)


def test_every_repeats_while_the_block_lasts_and_not_after() -> None:
    calls: list[float] = []
    with every(0.01, lambda: calls.append(time.monotonic())):
        deadline = time.monotonic() + 30
        while len(calls) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    after = len(calls)
    time.sleep(0.1)
    assert len(calls) == after


def test_a_wait_is_told_only_if_it_is_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with waiting("waiting for nobody"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "SECONDS_UNTOLD", 0.01)
    said = ""
    with waiting("waiting for someone"):
        while not said:
            said = capsys.readouterr().err
            time.sleep(0.01)
    assert said == "waiting for someone\n"
