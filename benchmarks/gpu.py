"""What one GPU makes of the paper's training: throughput, share of its peak, hours; and the tests that need a GPU.

    python -m benchmarks.gpu                        # under 8 minutes; writes reports/benchmarks/gpu.json and gpu.md
    python -m benchmarks.gpu --out /tmp/my-gpu      # writes /tmp/my-gpu.json and /tmp/my-gpu.md

`base` and `big` train with the paper's batches of 25,000 source and 25,000 target tokens, in bf16 where the GPU has it,
on made-up sentences with lengths like WMT14's. Without a GPU a small model trains on the CPU, and the report says what
that leaves open. Exit code 1 if a GPU test fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from benchmarks.contenders.job import Job
from benchmarks.environments import last_line
from benchmarks.rounds import CHECKOUT
from benchmarks.streams import draw_pairs, save
from benchmarks.train import flops_per_token
from tasks.common.machine import commit, describe
from transformer.io.errors import run_main
from transformer.io.files import whole_file, write_json
from transformer.telemetry.devices import has_bf16, peak_flops, pick_device

VOCABULARY = 37_000  # section 5.1
PAIRS, MEAN_LENGTH, SPREAD = 100_000, 27.0, 0.6
SECONDS = 40.0
PAPER_UPDATES = {"base": 100_000, "big": 300_000}
GPU_SIZES: dict[str, dict[str, Any]] = {
    "base": {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1, "tokens": 25_000},
    "big": {"layers": 6, "d_model": 1024, "d_ff": 4096, "heads": 16, "dropout": 0.3, "tokens": 25_000},
}
CPU_SIZES: dict[str, dict[str, Any]] = {
    "small": {"layers": 2, "d_model": 128, "d_ff": 256, "heads": 4, "dropout": 0.1, "tokens": 2000},
}
CPU_SECONDS = 5.0


def main(arguments: list[str] | None = None) -> None:
    """Measure, test, write both files."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("reports/benchmarks/gpu"), help="path without its ending")
    out = parser.parse_args(arguments).out
    gpu = torch.cuda.is_available()
    results = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit(),
        **describe(devices=1),
        "gpu": gpu,
        "peak_flops": peak_flops(pick_device(), has_bf16(pick_device())),
        "precision": "bf16" if has_bf16(pick_device()) else "fp32",
        "tests": run_tests(),
    }
    results["sizes"] = measure(GPU_SIZES if gpu else CPU_SIZES, SECONDS if gpu else CPU_SECONDS, results["precision"])
    write_json(out.with_name(f"{out.name}.json"), results)
    with whole_file(out.with_name(f"{out.name}.md")) as temporary:
        temporary.write_text(report(results), encoding="utf-8")
    print(report(results))
    if results["tests"]["failed"]:
        sys.exit(1)


def run_tests() -> dict[str, Any]:
    """Run the tests marked `gpu`."""
    print("benchmarks.gpu: tests", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests"]
    found = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    print(found.stdout, file=sys.stderr)
    return {"failed": found.returncode != 0, "summary": last_line(found.stdout + found.stderr).strip("= ")}


def measure(sizes: dict[str, dict[str, Any]], seconds: float, precision: str) -> dict[str, Any]:
    """Train each size in a process of its own."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        streams = save(draw_pairs(PAIRS, MEAN_LENGTH, SPREAD, VOCABULARY), Path(folder, "streams.npz"))
        for size, values in sizes.items():
            print(f"benchmarks.gpu: {size}, {seconds:.0f} seconds", file=sys.stderr, flush=True)
            state = Path(folder, size)
            state.mkdir()
            job = Job(
                str(streams), str(state), vocabulary=VOCABULARY, label_smoothing=0.1, warmup=4000,
                precision=precision, seconds=seconds, ranks=1, **values,
            )  # fmt: skip
            found[size] = train(job)
    return found


def train(job: Job) -> dict[str, Any]:
    """What the training says of itself, or why it did not."""
    command = [sys.executable, "-m", "benchmarks.contenders.ours", json.dumps(asdict(job))]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    if done.returncode:
        return {"error": last_line(done.stderr)}
    found = dict(json.loads(last_line(done.stdout)))
    return {**found, "tokens": job.tokens, "flops_per_second": found["tokens_per_second"] * flops_per_token(job)}


def report(results: dict[str, Any]) -> str:
    """The page for people."""
    peak = results["peak_flops"]
    lines = [
        "# Training on one GPU",
        "",
        "Written by `python -m benchmarks.gpu`.",
        "",
        f"- {results['date']}, commit `{results['commit']}`",
        f"- {results['device']}; torch {results['torch']}, {results['precision']}",
        f"- published peak in that precision: {f'{peak / 1e12:,.0f} TFLOP/s' if peak else 'unknown'}",
        f"- GPU tests: {results['tests']['summary']}",
        "",
        "Operations are those that the real tokens need, by the rule of `transformer/telemetry/flops.py`: padding does "
        "not count.",
        "",
        "| | batch | target tokens/s | TFLOP/s | of the peak | memory GB | the paper's updates |",
        "|---|---:|---:|---:|---:|---:|---|",
        *(row(size, found, peak) for size, found in results["sizes"].items()),
    ]
    if not results["gpu"]:
        lines += [
            "",
            "There is no GPU here (or torch is built without CUDA: see the README). Left open: throughput, share of "
            "the peak and hours of `base` and `big` at 25,000 tokens, and all GPU tests, which were skipped.",
        ]
    return "\n".join(lines) + "\n"


def row(size: str, found: dict[str, Any], peak: float | None) -> str:
    """A line of the table."""
    if "error" in found:
        return f"| {size} | | {found['error']} | | | | |"
    share = f"{100 * found['flops_per_second'] / peak:.1f} %" if peak else ""
    hours = ""
    if size in PAPER_UPDATES:
        updates = PAPER_UPDATES[size]
        hours = f"{updates:,} in {updates * found['tokens'] / found['tokens_per_second'] / 3600:,.1f} hours"
    return (
        f"| {size} | {found['tokens']:,} | {found['tokens_per_second']:,.0f} | {found['flops_per_second'] / 1e12:,.2f} "
        f"| {share} | {found['peak_mb'] / 1e3:.1f} | {hours} |"
    )


if __name__ == "__main__":
    run_main(main)
