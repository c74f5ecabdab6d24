"""What the contenders' scripts share: the job they are given, the clock they run against, and their one line of JSON.

It runs in the environment of any toolkit, so it needs nothing but NumPy and torch.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

PAD, UNK, BOS, EOS = 0, 1, 2, 3  # of the token streams
WARM_UP_STEPS = 2
LEAST_STEPS = 3
CUDA_STEPS_AT_ONCE = 10  # a GPU is not made to wait after each step


@dataclass(frozen=True)
class Job:
    """What to train, and for how long.

    `streams` is the .npz file of benchmarks/streams.py, `folder` an empty one for what the toolkit writes. `tokens` is
    the size of a batch, `seconds` how long to measure after the first steps. `ranks` is for those that can be divided.
    """

    streams: str
    folder: str
    vocabulary: int
    layers: int
    d_model: int
    d_ff: int
    heads: int
    dropout: float
    label_smoothing: float
    warmup: int
    precision: str
    tokens: int
    seconds: float
    ranks: int

    @property
    def bf16(self) -> bool:
        """Whether matrix products are to be in bf16."""
        return self.precision == "bf16"

    def autocast(self) -> torch.autocast:
        """Products in bf16 where the job has that; for toolkits that leave precision to torch."""
        return torch.autocast(device(), torch.bfloat16, enabled=self.bf16)

    def sentences(self, side: str) -> list[np.ndarray]:
        """The ids of each sentence of `side` (source or target), without begin and end symbols."""
        with np.load(self.streams) as streams:
            return np.split(streams[f"{side}_tokens"], streams[f"{side}_offsets"][1:-1])

    def write_text(self) -> dict[str, Path]:
        """Each side as a text file, for toolkits that read those: an id is the word w17; and a list of the words."""
        files = {}
        for side in ("source", "target"):
            files[side] = Path(self.folder, f"train.{side}")
            lines = (" ".join(f"w{i}" for i in ids) + "\n" for ids in self.sentences(side))
            files[side].write_text("".join(lines), encoding="utf-8")
        files["words"] = Path(self.folder, "words.txt")
        files["words"].write_text("".join(f"w{i}\n" for i in range(4, self.vocabulary)), encoding="utf-8")
        return files


def read_job() -> Job:
    """The job on the command line, as JSON."""
    return Job(**json.loads(sys.argv[1]))


def device() -> str:
    """Where to train, as torch names it."""
    return "cuda" if torch.cuda.is_available() else "cpu"


class Finished(BaseException):
    """Enough was measured. Not an Exception: toolkits catch those."""


class Stopwatch:
    """Counts the steps of a training from outside: the time of a step is that from the end of the one before it.

    So it holds all that happens in between, the making of the next batch included.

    Args:
        seconds: how long to measure, after WARM_UP_STEPS.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rates: list[float] = []
        self.laps = self.counted = self.tokens = 0
        self.real, self.positions = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
        self.started = self.first = 0.0

    def lap(self, source: tuple[int, int], target: tuple[int, int]) -> None:
        """Count one step of (real tokens, positions with padding) on each side; raise Finished after the last."""
        self.laps += 1
        if self.laps <= WARM_UP_STEPS:
            self.first = self.started = now()
            return
        self.real += np.array([source[0], target[0]])
        self.positions += np.array([source[1], target[1]])
        self.tokens += target[0]
        self.counted += 1
        if self.counted % (CUDA_STEPS_AT_ONCE if device() == "cuda" else 1):
            return
        end = now()
        self.rates.append(self.tokens / (end - self.started))
        self.tokens, self.started = 0, end
        if len(self.rates) >= LEAST_STEPS and end - self.first > self.seconds:
            raise Finished


def now() -> float:
    """Seconds; on a GPU when it has done what it was given."""
    if device() == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def measure(train: Callable[[Job, Stopwatch], None], toolkit: str) -> None:
    """Run a training until the stopwatch has enough and print what it saw, as one line of JSON.

    Args:
        train: begins the training; calls `lap` at the end of each step.
        toolkit: its name and version.
    """
    job = read_job()
    watch = Stopwatch(job.seconds)
    with suppress(Finished):
        train(job, watch)
    tell(toolkit, watch, peak_bytes())


def tell(toolkit: str, watch: Stopwatch, peak: float) -> None:
    """Print one line of JSON for the parent; `peak` in bytes."""
    source_padding, target_padding = (1 - watch.real / watch.positions).tolist()
    found = {
        "toolkit": toolkit,
        "tokens_per_second": statistics.median(watch.rates),
        "steps": watch.counted,
        "source_padding": source_padding,
        "target_padding": target_padding,
        "peak_mb": peak / 1e6,
    }
    print("\n" + json.dumps(found), flush=True)


def peak_bytes() -> int:
    """The most memory this process has held: of the GPU, or of the machine."""
    if device() == "cuda":
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
