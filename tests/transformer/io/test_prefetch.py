"""Work made ahead comes in order, with its errors, and ends with who asked for it."""

import threading
import time
from collections.abc import Iterator

import pytest

from transformer.io.prefetch import ahead


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("depth", [1, 2, 7])
def test_all_items_come_in_order(depth: int) -> None:
    assert list(ahead(iter(range(5)), depth)) == [0, 1, 2, 3, 4]
    assert threads() == []


def test_an_error_comes_where_its_item_would_have() -> None:
    def broken() -> Iterator[int]:
        yield 1
        yield 2
        raise OSError("the third cannot be read")

    items = ahead(broken(), depth=4)
    assert (next(items), next(items)) == (1, 2)
    with pytest.raises(OSError, match="third"):
        next(items)
    assert threads() == []


def test_the_next_items_are_made_while_one_is_worked_on_and_no_more_than_asked() -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    coming = ahead(items(), depth=3)
    assert next(coming) == 0
    deadline = time.monotonic() + 120
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert made == [0, 1, 2, 3]
    coming.close()


def test_closing_ends_the_thread_in_the_middle_of_endless_work() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    coming = ahead(endless(), depth=2)
    next(coming)
    assert len(threads()) == 1
    coming.close()
    assert threads() == []
