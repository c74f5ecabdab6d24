"""What the comparisons with other toolkits share: the machine in words, and contenders as processes of their own."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.environments import last_line
from tasks.common.machine import commit, describe
from transformer.io.files import whole_file

CHECKOUT = Path(__file__).parents[1]


def facts() -> dict[str, Any]:
    """When, where and with what it is measured."""
    date = datetime.now(UTC).isoformat(timespec="minutes")
    cores = len(psutil.Process().cpu_affinity()) if sys.platform == "linux" else os.cpu_count()
    return {"date": date, "commit": commit(), **describe(devices=1), "cores": cores}


def about(results: dict[str, Any]) -> str:
    """`facts`, and how busy the machine was, as lines of a report."""
    load = [run["load"] for run in results["runs"]]
    return (
        f"- {results['date']}, commit `{results['commit']}`\n"
        f"- {results['device']}, {results['cores']} core(s)\n"
        f"- Python {results['python']}, torch {results['torch']} for all\n"
        f"- others used {median(load):.0f} % of the cores when a run began (median; at most {max(load):.0f} %)"
    )


def failed_before(runs: list[dict[str, Any]], run: dict[str, Any]) -> bool:
    """What did not run in one round is not tried in the next."""
    same = run.keys() - {"round", "load"}
    return any("error" in other and all(other.get(key) == run[key] for key in same) for other in runs)


def run_process(command: list[str], threads: int, seconds: float, log: Path) -> dict[str, Any]:
    """What a process says of itself in the last line it prints, as JSON; or why it did not.

    Args:
        command: started in the checkout.
        threads: of each of its processes.
        seconds: after which it is killed.
        log: where to write all that it prints.
    """
    # The first as in tasks/train.py. In a quiet machine the second makes no difference, in a busy one much.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "GOMP_SPINCOUNT": "1000"}
    with whole_file(log) as temporary:
        try:
            found = subprocess.run(
                command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            temporary.write_text("took too long\n", encoding="utf-8")
            return {"error": f"nothing measured in {seconds:.0f} s"}
        temporary.write_text(found.stdout + found.stderr, encoding="utf-8")
    if found.returncode:
        return {"error": last_line(found.stderr)}
    return dict(json.loads(last_line(found.stdout)))
