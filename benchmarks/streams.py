"""Token streams that every contender trains on: Multi30k en-de where it can be had, else made up with like lengths.

    PATH.npz    source_tokens source_offsets target_tokens target_offsets    pair i is tokens[offsets[i]:offsets[i + 1]]

Ids are those of a shared vocabulary of 8,000 with pad 0, unk 1, begin 2, end 3; no sentence has its begin or end.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset

CHECKOUT = Path(__file__).parents[1]
CORPUS = "multi30k"
VOCABULARY = 8000
MADE_UP_PAIRS, MEAN_LENGTH, SPREAD = 29_000, 14.0, 0.35  # as Multi30k's

Sentences = list[Any]


def write_streams(folder: Path) -> tuple[Path, str]:
    """Write streams.npz into `folder` and return it, and in words what it holds."""
    has_corpus = Path(os.environ.get("REPRO_DATA", "nowhere"), CORPUS).is_dir()
    pairs = encode(folder) if has_corpus else draw_pairs(MADE_UP_PAIRS, MEAN_LENGTH, SPREAD, VOCABULARY)
    path = save(pairs, folder / "streams.npz")
    kind = "Multi30k en-de, train" if has_corpus else "made-up sentences ($REPRO_DATA/multi30k is not there)"
    tokens = sum(map(len, pairs[1])) / len(pairs[1]) + 1
    return path, f"{kind}: {len(pairs[1]):,} pairs, {tokens:.1f} target tokens each, vocabulary {VOCABULARY:,}"


def encode(folder: Path) -> tuple[Sentences, Sentences]:
    """The corpus as the pipeline's own stages encode it, in a workspace of their own."""
    (folder / "params.yaml").write_bytes((CHECKOUT / "params.yaml").read_bytes())
    for stage in ("corpus", "subwords", "shards"):
        command = [sys.executable, "-m", f"tasks.{stage}", CORPUS]
        subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, check=True)
    table = pyarrow.dataset.dataset(folder / "data" / "shards" / CORPUS / "train").to_table(["source", "target"])
    return table["source"].to_pylist(), table["target"].to_pylist()


def draw_pairs(pairs: int, mean_length: float, spread: float, vocabulary: int) -> tuple[Sentences, Sentences]:
    """Random ids, low ones more often; lengths are log-normal, and a target is about as long as its source."""
    random = np.random.default_rng(0)
    source = random.lognormal(np.log(mean_length) - spread**2 / 2, spread, pairs)
    target = source * random.normal(1.0, 0.15, pairs)
    frequency = 1 / np.arange(10, vocabulary + 6)

    def draw(lengths: Any) -> Sentences:
        lengths = np.clip(lengths.round(), 1, 250).astype(np.int64)
        ids = random.choice(vocabulary - 4, lengths.sum(), p=frequency / frequency.sum()) + 4
        return np.split(ids, lengths.cumsum()[:-1])

    return draw(source), draw(target)


def save(pairs: tuple[Sentences, Sentences], path: Path) -> Path:
    """Write the file, in random order: shards are sorted by length."""
    order = np.random.default_rng(1).permutation(len(pairs[0]))
    arrays: dict[str, Any] = {}
    for side, sentences in zip(("source", "target"), pairs, strict=True):
        chosen = [sentences[i] for i in order]
        arrays[f"{side}_tokens"] = np.concatenate(chosen).astype(np.int32)
        arrays[f"{side}_offsets"] = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    np.savez(path, **arrays)
    return path
