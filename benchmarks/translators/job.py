"""What the scripts share: the job they are given, how long they translate, and their one line of JSON.

From sub-word ids to sub-word ids: no script cuts text into sub-words, and all are given the same ids.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.contenders.job import now, peak_bytes
from transformer.settings import SearchSettings
from transformer.translator import Translator

WARM_UP = 32  # sentences

Sentences = list[list[int]]


@dataclass(frozen=True)
class Job:
    """What to translate, how, and for how long.

    `model` is a model folder of ours, `sources` a JSON file of the ids of each sentence, none of them empty and without
    end symbols; `outputs` is where to write those of the translations. `batch` is in sentences, `workers` translate
    side by side where a toolkit has that, each with so many `threads`. `precision` is fp32, bf16 or int8.
    """

    model: str
    sources: str
    outputs: str
    beam: int
    length_penalty: float
    extra_length: int
    precision: str
    batch: int
    workers: int
    threads: int
    seconds: float

    @property
    def search(self) -> SearchSettings:
        """As ours has it: scores are divided by |Y| ** length_penalty, which all toolkits know."""
        return SearchSettings(
            beam=self.beam,
            penalty="length",
            length_penalty=self.length_penalty,
            extra_length=self.extra_length,
            ends_within_beam=True,
        )

    def translator(self) -> Translator:
        """Our model, in fp32."""
        return Translator.load(self.model)

    @property
    def dtype(self) -> torch.dtype:
        """Of weights in PyTorch."""
        return torch.bfloat16 if self.precision == "bf16" else torch.float32


def batches(sources: Sentences, size: int) -> list[list[int]]:
    """Row numbers, so many at a time, of sentences of like length: the longest first."""
    rows = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def measure(load: Callable[[Job], Callable[[Sentences], Sentences]], toolkit: str) -> None:
    """Translate all sentences, again and again until the seconds are over, and print one line of JSON for the parent.

    Args:
        load: makes the function that translates.
        toolkit: its name and version.
    """
    job = Job(**json.loads(sys.argv[1]))
    sources: Sentences = json.loads(Path(job.sources).read_text())
    translate = load(job)
    translate(sources[:WARM_UP])
    passes, started = 0, now()
    while not passes or now() - started < job.seconds:
        outputs = translate(sources)
        passes += 1
    seconds = (now() - started) / passes
    Path(job.outputs).write_text(json.dumps(outputs))
    found = {
        "toolkit": f"{toolkit}, {job.precision}",
        "sentences_per_second": len(sources) / seconds,
        "tokens_per_second": sum(len(output) + 1 for output in outputs) / seconds,  # with end symbols
        "passes": passes,
        "peak_mb": peak_bytes() / 1e6,
    }
    print("\n" + json.dumps(found), flush=True)
