import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import psutil
import pytest

from tasks.processes import in_order

PROJECT = Path(__file__).parents[2]


def sleepy(item):
    """Later items are done sooner; returns the process, too."""
    time.sleep(0.02 * (8 - item))
    return item, os.getpid()


def die(item):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_items(processes):
    assert [item for item, _ in in_order(sleepy, range(8), processes)] == list(range(8))


def test_two_processes_share_the_work_and_few_items_are_done_here():
    assert len({process for _, process in in_order(sleepy, range(8), 2)} - {os.getpid()}) == 2
    assert {process for _, process in in_order(sleepy, [7, 7, 7], 2)} == {os.getpid()}


def test_items_are_taken_as_results_are_wanted():
    taken = []
    results = in_order(abs, (taken.append(item) or item for item in range(1000)), 2)
    assert next(results) == 0
    assert len(taken) < 10


def test_a_process_that_is_killed_is_an_error_and_no_wait():
    with pytest.raises(BrokenProcessPool):
        list(in_order(die, range(8), 2))


def test_no_process_outlives_a_parent_that_was_killed(tmp_path):
    (tmp_path / "work.py").write_text(
        "import time\n"
        "from tasks.processes import in_order\n"
        "def work(item):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(item)\n"
        "if __name__ == '__main__':\n"
        "    list(in_order(work, [60] * 8, 2))\n"
    )
    place = {**os.environ, "PYTHONPATH": str(PROJECT)}
    parent = subprocess.Popen([sys.executable, "work.py"], cwd=tmp_path, env=place, stdout=subprocess.PIPE)
    parent.stdout.readline()
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert len(children) >= 2
    assert not psutil.wait_procs(children, timeout=10)[1]
