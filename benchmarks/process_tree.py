"""Seconds and memory of a command with all the processes that it starts."""

import os
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.environments import last_line
from benchmarks.rounds import CHECKOUT
from transformer.io.files import whole_file

EVERY = 0.25  # seconds between two looks at the memory


def run_measured(command: list[str], folder: Path, log: Path, seconds: float) -> dict[str, Any]:
    """`seconds` from start to end, `cpu_seconds` of all its processes, `peak_mb` that they held at one time.

    Or the `error`: the last line it printed, or that it was killed. All that it prints goes to `log`.

    Args:
        command: finds the checkout's modules.
        folder: where it runs.
        log: a file.
        seconds: after which it is killed, with its children.
    """
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    before = _cpu_seconds()
    with whole_file(log) as temporary:
        with temporary.open("wb") as output:
            started = time.monotonic()
            process = psutil.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
            peak = _watch(process, started + seconds)
            taken = time.monotonic() - started
        printed = temporary.read_text(encoding="utf-8", errors="replace")
    if peak is None:
        return {"error": f"not done after {seconds:.0f} s"}
    if process.returncode:
        return {"error": last_line(printed)}
    return {"seconds": taken, "cpu_seconds": _cpu_seconds() - before, "peak_mb": peak / 1e6}


def _watch(process: psutil.Popen, end: float) -> int | None:
    """Most bytes held at one time until the process ends; None if it had to be killed."""
    peak = 0
    while True:
        peak = max(peak, memory(process))
        try:
            process.wait(timeout=EVERY)
            return peak
        except psutil.TimeoutExpired:
            if time.monotonic() > end:
                for one in [*process.children(recursive=True), process]:
                    one.kill()
                process.wait()
                return None


def memory(process: psutil.Process) -> int:
    """Bytes that a process and all below it hold; what several share counts once, where the system tells (Linux)."""
    total = 0
    try:
        for one in [process, *process.children(recursive=True)]:
            try:
                total += getattr(found := one.memory_full_info(), "pss", found.rss)
            except psutil.Error:  # it has just ended
                continue
    except psutil.NoSuchProcess:
        pass
    return total


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
