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
MADE_UP_PAIRS, MEAN_LENGTH, SPREAD = 29_000, 14.0, 0.35  # of a log-normal distribution, as those of Multi30k


def write_streams(folder: Path) -> tuple[Path, str]:
    """Write streams.npz into `folder` and return it, and in words what it holds."""
    has_corpus = Path(os.environ.get("REPRO_DATA", "nowhere"), CORPUS).is_dir()
    source, target = encode(folder) if has_corpus else make_up()
    order = np.random.default_rng(1).permutation(len(source))  # shards are sorted by length
    path = folder / "streams.npz"
    arrays = {}
    for side, sentences in (("source", source), ("target", target)):
        chosen = [sentences[i] for i in order]
        arrays[f"{side}_tokens"] = np.concatenate(chosen).astype(np.int32)
        arrays[f"{side}_offsets"] = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    np.savez(path, **arrays)
    kind = "Multi30k en-de, train" if has_corpus else "made-up sentences ($REPRO_DATA/multi30k is not there)"
    tokens = (len(arrays["target_tokens"]) + len(target)) / len(target)
    return path, f"{kind}: {len(source):,} pairs, {tokens:.1f} target tokens each, vocabulary {VOCABULARY:,}"


def encode(folder: Path) -> tuple[list[Any], list[Any]]:
    """The corpus as the pipeline's own stages encode it, in a workspace of their own."""
    (folder / "params.yaml").write_bytes((CHECKOUT / "params.yaml").read_bytes())
    for stage in ("corpus", "subwords", "shards"):
        command = [sys.executable, "-m", f"tasks.{stage}", CORPUS]
        subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, check=True)
    table = pyarrow.dataset.dataset(folder / "data" / "shards" / CORPUS / "train").to_table(["source", "target"])
    return table["source"].to_pylist(), table["target"].to_pylist()


def make_up() -> tuple[list[Any], list[Any]]:
    """Random ids; a target is about as long as its source, and frequent ids are frequent."""
    random = np.random.default_rng(0)
    source = random.lognormal(np.log(MEAN_LENGTH) - SPREAD**2 / 2, SPREAD, MADE_UP_PAIRS)
    lengths = source, source * random.normal(1.0, 0.15, MADE_UP_PAIRS)
    frequency = 1 / np.arange(10, VOCABULARY + 6)

    def draw(length: Any) -> list[Any]:
        lengths = np.maximum(1, length.round()).astype(np.int64)
        ids = random.choice(VOCABULARY - 4, lengths.sum(), p=frequency / frequency.sum()) + 4
        return np.split(ids, lengths.cumsum()[:-1])

    return draw(lengths[0]), draw(lengths[1])
