"""Work that is prepared in the background while the device computes."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T], depth: int) -> Generator[T, None, None]:
    """Yield the items in their order; one thread makes up to `depth` of them before they are asked for.

    An error in making an item is raised where that item would have come. The thread ends with the items, and when
    the generator is closed.
    """
    end: Any = object()
    with ThreadPoolExecutor(1, "prefetch") as thread:
        coming = deque(thread.submit(next, items, end) for _ in range(depth))
        try:
            while (item := coming.popleft().result()) is not end:
                coming.append(thread.submit(next, items, end))
                yield item
        finally:
            thread.shutdown(cancel_futures=True)
