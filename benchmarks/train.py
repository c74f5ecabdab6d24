"""Target tokens a second in training, beside other toolkits: same sizes, same token streams, same torch.

    python -m benchmarks.train                                   # everything: about an hour on two cores
    python -m benchmarks.train --sizes tiny --precisions fp32 --contenders ours plain_torch --rounds 1     # two minutes

Each run is a process of its own, and rounds go through all contenders (A B A B), so that a change of the machine's
load meets all alike; the tables hold medians over rounds. On a GPU where there is one, else on all cores. Other
toolkits are installed once, from the package index, into .benchmarks/; one that does not install is a row that says
why. Text is Multi30k where $REPRO_DATA/multi30k has it, else made up.

  -> reports/benchmarks/train.md    tables, and what stands in benchmarks/train_notes.md
     reports/benchmarks/train.json  every run; `python -m benchmarks.train_report` draws the tables again from it
     .benchmarks/logs/              what each contender printed
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from benchmarks import train_report
from benchmarks.contenders import ours
from benchmarks.contenders.job import Job
from benchmarks.environments import FOLDER, NotInstalled, python_for
from benchmarks.rounds import facts, failed_before, run_process
from benchmarks.streams import VOCABULARY, write_streams
from transformer.io.errors import run_main
from transformer.io.progress import bar
from transformer.telemetry.flops import forward_flops

CONTENDERS = ["ours", "ours_ranks", "plain_torch", "marian", "opennmt", "fairseq", "joeynmt", "sockeye"]
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 4, "d_model": 128, "d_ff": 256, "heads": 4},
    "base": {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8},
}
PRECISIONS = ["fp32", "bf16"]
SAME_FOR_ALL: dict[str, Any] = {
    "vocabulary": VOCABULARY, "dropout": 0.1, "label_smoothing": 0.1, "warmup": 4000, "tokens": 4096
}  # fmt: skip
SECONDS_TO_START = 300.0  # at most, with the first steps


def main(arguments: list[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    # Ranks that share a GPU gain nothing.
    everyone = [name for name in CONTENDERS if name != "ours_ranks" or not torch.cuda.is_available()]
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=everyone)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--seconds", type=float, default=15.0, help="measured in each run, at least (default 15)")
    chosen = parser.parse_args(arguments)
    results = {
        **facts(),
        "same_for_all": SAME_FOR_ALL,
        "contenders": chosen.contenders,
        "seconds": chosen.seconds,
        "runs": [],
    }
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        streams, results["corpus"] = write_streams(Path(folder))
        jobs = {size: job_for(size, "fp32", streams, "", chosen.seconds, ranks=1) for size in chosen.sizes}
        results["flops_per_token"] = {size: flops_per_token(job) for size, job in jobs.items()}
        measure(chosen, streams, results)
    print(train_report.tables(results))


def measure(chosen: argparse.Namespace, streams: Path, results: dict[str, Any]) -> None:
    """Run all rounds; the reports are written after each, so that whatever stops it leaves what was measured."""
    cells = [(size, precision) for size in chosen.sizes for precision in chosen.precisions]
    with bar(chosen.rounds * len(cells) * (len(chosen.contenders) + 1), "benchmarks.train", "run") as shown:
        for number in range(1, chosen.rounds + 1):
            for size, precision in cells:
                for contender in ["limit", *chosen.contenders]:
                    run = {"round": number, "contender": contender, "size": size, "precision": precision}
                    if not failed_before(results["runs"], run):
                        run["load"] = psutil.cpu_percent(interval=1)
                        results["runs"].append(run | run_one(run, streams, results["cores"], chosen.seconds))
                    shown.update()
            train_report.PAGE.save(results)


def run_one(run: dict[str, Any], streams: Path, cores: int, seconds: float) -> dict[str, Any]:
    """What one process says of itself, or why it did not."""
    log = FOLDER / "logs" / "{contender}-{size}-{precision}.log".format(**run)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        try:
            command, threads = command_for(run, streams, folder, cores, seconds)
        except NotInstalled as error:
            return {"error": f"not installed: {error}"}
        return run_process(command, threads, SECONDS_TO_START + seconds, log)


def command_for(run: dict[str, Any], streams: Path, folder: str, cores: int, seconds: float) -> tuple[list[str], int]:
    """The command of one run, and the threads of each of its processes."""
    contender = run["contender"]
    if contender == "limit":
        return [sys.executable, "-m", "benchmarks.limit", run["precision"]], cores
    ranks = cores if contender == "ours_ranks" else 1
    job = job_for(run["size"], run["precision"], streams, folder, seconds, ranks)
    script = contender.removesuffix("_ranks")
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    module = ["-m", f"benchmarks.contenders.{script}", json.dumps(asdict(job))]
    return [str(python_for(script)), *launcher, *module], cores // ranks


def job_for(size: str, precision: str, streams: Path, folder: str, seconds: float, ranks: int) -> Job:
    """What a contender is given."""
    sizes = {**SIZES[size], **SAME_FOR_ALL}
    return Job(str(streams.absolute()), folder, precision=precision, seconds=seconds, ranks=ranks, **sizes)


def flops_per_token(job: Job) -> float:
    """Operations of forward and backward pass for each target token of its streams.

    By the rule of transformer/telemetry/flops.py. Padding is left out: what a contender spends on it does not count as
    work done.
    """
    settings, _ = ours.settings(job)
    source, target = (np.array([len(ids) + 1 for ids in job.sentences(side)]) for side in ("source", "target"))
    lengths, counts = np.unique(np.stack([source, target]), axis=1, return_counts=True)
    flops = [forward_flops(settings, job.vocabulary, 1, s, t, t) for s, t in lengths.T.tolist()]
    return float(3 * np.dot(flops, counts) / target.sum())


if __name__ == "__main__":
    run_main(main)
