"""The same work on many items in several processes, with results in the order of the items."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from transformer.io.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_task: Callable[[Any], Any]


def usable_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(task: Callable[[Item], Result], items: Iterable[Item], processes: int, few: int) -> Iterator[Result]:
    """Yield task(item) for each item, in order, with few items in memory at once.

    `task` is pickled once for each process, so it may hold tables that all items need. With one process, or for
    so `few` items, the work is done here: other processes take a second to start. InputError if one is killed.
    """
    items = iter(items)
    first = list(itertools.islice(items, few + 1))
    if processes == 1 or len(first) <= few:
        yield from map(task, itertools.chain(first, items))
        return
    waiting: deque[Future[Result]] = deque()
    # A forked child could hang on a lock that a thread of this process held.
    start = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(processes, start, _begin, (task,)) as pool:
        try:
            for item in itertools.chain(first, items):
                waiting.append(pool.submit(_run, item))
                if len(waiting) > 2 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException as error:  # Ctrl-C too: the pool would wait until all that was submitted is done
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise InputError("a process that shares the work was killed, most likely for want of memory") from None
            raise


def _begin(task: Callable[[Any], Any]) -> None:
    global _task
    _task = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which then ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed tells its workers nothing: they would wait for items for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _run(item: Any) -> Any:
    return _task(item)
