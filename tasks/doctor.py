"""What this machine lacks for an experiment, and how long its training would take here; run it before a long one.

    python -m tasks.doctor big

Time and memory are measured: some updates of the real model on random sentences. Nothing is kept of it.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tasks.common.machine import describe
from tasks.common.settings import key_argument, read_corpus, read_experiment
from tasks.origins.fingerprints import check
from transformer.io.errors import InputError, run_main
from transformer.io.shards import Pairs

WORDS = 25  # sub-words of the random sentences, about the mean of WMT14
TRIAL_UPDATES = 2
SLOW_HOURS = 24.0
TOKENS_ON_A_CPU = 1024  # enough to measure speed, in seconds and little memory


def main() -> None:
    """Print one line for each need; exit code 1 if one is not met."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, "corpus", "model", "training")
    vocabulary = read_corpus(settings.corpus, "subwords").subwords.vocabulary
    print(f"{experiment}: measuring some updates of the real model here")
    lines = [*_data(experiment), *_scores(settings.corpus), *_machine(settings, vocabulary)]
    for good, line in lines:
        print(f"  {'ok   ' if good else 'LACKS'} {line}")
    if not all(good for good, _ in lines):
        sys.exit(1)


def _data(experiment: str) -> list[tuple[bool, str]]:
    try:
        check([experiment])
    except InputError as error:
        return [(False, f"data: {error}")]
    return [(True, "data: its corpus can be read or fetched")]


def _scores(corpus: str) -> list[tuple[bool, str]]:
    """Of a target language whose tokeniser is not there: a long training would end without BLEU."""
    from tasks.scoring.bleu import bleu_metric

    language = read_corpus(corpus, "languages").languages.target
    try:
        bleu_metric(language, [])
    except InputError as error:
        return [(False, f"scores: {error}")]
    return []


def _machine(settings: Any, vocabulary: int) -> list[tuple[bool, str]]:
    import torch

    from transformer.telemetry.auto_batch import PROBES

    training, gpu = settings.training, torch.cuda.is_available()
    machine = describe(devices=max(1, torch.cuda.device_count()))
    device = f"{machine['devices']} x {machine['device']}{'' if gpu else ' (no GPU)'}"
    try:
        trial = measure(settings, vocabulary)
    except torch.OutOfMemoryError:
        tokens = f"{PROBES[-1]:,}" if training.tokens_per_device == "auto" else f"{training.tokens_per_device:,}"
        need = f"memory: too little on {device} for {tokens} tokens at once"
        return [(False, f"{need}; set training.tokens_per_device to less")]
    disk, needed = shutil.disk_usage(".").free, disk_needed(trial["parameters"], training.keep_snapshots)
    memory = _memory(gpu)
    rate = trial["tokens_per_second"] * machine["devices"]
    hours = training.updates * training.tokens_per_update / rate / 3600
    used = f"{trial['memory'] / 1e9:.1f} GB used by a trial with {trial['tokens']:,.0f} tokens at once"
    work = f"{training.updates:,} updates of {training.tokens_per_update:,} tokens at {rate:,.0f} tokens/s"
    return [
        (disk > needed, f"disk: {disk / 1e9:.0f} GB free, about {needed / 1e9:.1f} GB needed"),
        (trial["memory"] < 0.9 * memory, f"memory: {memory / 1e9:.0f} GB, {used}"),
        (gpu or hours < SLOW_HOURS, f"time: about {_hours(hours)} on {device}: {work}"),
    ]


def _memory(gpu: bool) -> int:
    """Bytes of the device that trains."""
    import torch

    if gpu:
        return int(torch.cuda.get_device_properties(0).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def disk_needed(parameters: float, snapshots: int) -> float:
    """Bytes: snapshots in state, weights and DVC's cache, two checkpoints with Adam's moments, the model twice."""
    return 4 * parameters * (3 * snapshots + 2 * 3 + 2) + 2**30


def measure(settings: Any, vocabulary: int) -> dict[str, float]:
    """Target tokens a second on one device, peak memory in bytes, number of parameters, tokens taken at once."""
    import torch

    from transformer.model import count_parameters
    from transformer.telemetry.devices import peak_memory
    from transformer.trainer import Trainer

    tokens = settings.training.tokens_per_update
    sentences = max(1, tokens // (WORDS + 1))
    ids = np.random.default_rng(0).integers(4, vocabulary, sentences * WORDS, dtype=np.int32)
    offsets = np.arange(sentences + 1, dtype=np.int64) * WORDS
    lengths = np.full(sentences, WORDS)
    pairs = Pairs(ids, offsets, lengths, ids, offsets, lengths)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(settings.model, settings.training, vocabulary, pairs, pairs, Path(folder))
        at_once = trainer.tokens_per_device if torch.cuda.is_available() else TOKENS_ON_A_CPU
        sentences = min(sentences, max(1, at_once // (WORDS + 1)))
        share = np.arange(sentences, dtype=np.int32)
        trainer.step(1, share)  # the first one also allocates
        started = time.monotonic()
        for update in range(TRIAL_UPDATES):
            trainer.step(update + 2, share)
        trainer.meter.wait_for_device()
        rate = TRIAL_UPDATES * sentences * (WORDS + 1) / (time.monotonic() - started)
    parameters = count_parameters(trainer.model)
    return {
        "tokens_per_second": rate,
        "memory": float(peak_memory(trainer.device)),
        "parameters": parameters,
        "tokens": sentences * (WORDS + 1),
    }


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{hours * 60:.0f} minutes"
    return f"{hours:.0f} hours" if hours < 72 else f"{hours / 24:.0f} days"


if __name__ == "__main__":
    run_main(main)
