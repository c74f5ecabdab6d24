"""What a number was measured on: hardware, its measured speed, and the commit of the code."""

import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from transformer.io.files import read_json, write_json


def describe(devices: int) -> dict[str, Any]:
    """The processor or GPU of each rank, how many of them, and the versions that matter."""
    import torch

    name = torch.cuda.get_device_name() if _gpu() else f"{_processor()}, {torch.get_num_threads()} thread(s)"
    return {"device": name, "devices": devices, "torch": torch.__version__, "python": platform.python_version()}


def measured(devices: int, record: Path) -> dict[str, Any]:
    """`describe`, with the measured FLOP/s of one device; kept in `record`, so that a machine is measured once."""
    machine = describe(devices)
    if record.exists() and machine.items() <= (known := read_json(record)).items():
        return dict(known)
    machine["flops_per_second"] = matrix_product_rate("cuda" if _gpu() else "cpu")
    write_json(record, machine)
    return machine


def _gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def matrix_product_rate(device: str, size: int = 2048, seconds: float = 0.5) -> float:
    """FLOP/s of an fp32 product of two square matrices, the best of those that fit in `seconds`.

    The stand-in for the "sustained single-precision" rate that the paper takes from data sheets (section 6.1).
    """
    import torch

    a = torch.randn(size, size, device=device)
    best = float("inf")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        a @ a
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.monotonic() - started)
    return 2 * size**3 / best


def commit() -> str:
    """The git commit that runs, with "+changes" if tracked code differs from it; "unknown" outside git."""
    try:
        head = _git("rev-parse", "HEAD")
        # What the pipeline itself writes is no change of the code.
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!dvc.lock", ":!reports")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+changes" if changed else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
