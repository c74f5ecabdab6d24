import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tasks.common.ordered_pool import in_order
from transformer.io.errors import InputError

PROJECT = Path(__file__).parents[3]


def sleepy(item):
    """Later items are done sooner."""
    time.sleep(0.02 * (8 - item))
    return item


def meet(item):
    """Wait until two processes have come to this; returns the process."""
    folder, item = item
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    return os.getpid()


def process(item):
    return os.getpid()


def divide(item):
    return 1 / item


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_items(processes):
    assert list(in_order(sleepy, range(8), processes, few=3)) == list(range(8))


def test_two_processes_share_the_work_and_few_items_are_done_here(tmp_path):
    assert len(set(in_order(meet, [(tmp_path, item) for item in range(8)], 2, few=3)) - {os.getpid()}) == 2
    assert set(in_order(process, [7, 7, 7], 2, few=3)) == {os.getpid()}


def test_items_are_taken_as_results_are_wanted():
    taken = []
    results = in_order(abs, (taken.append(item) or item for item in range(1000)), 2, few=3)
    assert next(results) == 0
    assert len(taken) < 10


def test_a_process_that_is_killed_is_one_line_and_no_wait():
    with pytest.raises(InputError, match="a process that shares the work was killed, most likely for want of memory"):
        list(in_order(die, range(8), 2, few=3))


def test_an_error_ends_only_the_processes_that_share_the_work():
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    other.start()
    try:
        with pytest.raises(ZeroDivisionError):
            list(in_order(divide, [1, 1, 1, 0, 1, 1], 2, few=3))
        assert multiprocessing.active_children() == [other]
    finally:
        other.kill()
        other.join()


def test_no_process_outlives_a_parent_that_was_killed(tmp_path):
    (tmp_path / "work.py").write_text(
        "import time\n"
        "from tasks.common.ordered_pool import in_order\n"
        "def work(item):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(item)\n"
        "if __name__ == '__main__':\n"
        "    list(in_order(work, [600] * 8, 2, few=3))\n"
    )
    place = {**os.environ, "PYTHONPATH": str(PROJECT)}
    parent = subprocess.Popen([sys.executable, "work.py"], cwd=tmp_path, env=place, stdout=subprocess.PIPE)
    parent.stdout.readline()
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert len(children) >= 2
    assert not psutil.wait_procs(children, timeout=120)[1]
