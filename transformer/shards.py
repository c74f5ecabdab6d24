"""Reads one split of the shards that the trainer feeds on: Parquet files of token ids, listed in a manifest.

    data/shards/C/manifest.json                         what there is: rows, sizes, hashes
    data/shards/C/train/bucket=016/part-00000.parquet   columns source, target (list<int32>), line (int64)

Ids are those of the sub-word model, without begin and end symbols. The whole split is held as flat arrays, eight
bytes a pair and side, and four a token: 4.5 million pairs of 30 tokens a side take 1.2 GB.
"""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transformer.errors import InputError
from transformer.files import read_json

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences as ids; pair i is `tokens[offsets[i]:offsets[i + 1]]` on either side."""

    source_tokens: Int32s
    source_offsets: Int64s
    target_tokens: Int32s
    target_offsets: Int64s

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.source_offsets) - 1

    @property
    def source_lengths(self) -> Int32s:
        """Ids on the source side of each pair."""
        return np.diff(self.source_offsets).astype(np.int32)

    @property
    def target_lengths(self) -> Int32s:
        """Ids on the target side of each pair."""
        return np.diff(self.target_offsets).astype(np.int32)

    def source(self, i: int) -> Int32s:
        """The source ids of pair i."""
        return self.source_tokens[self.source_offsets[i] : self.source_offsets[i + 1]]

    def target(self, i: int) -> Int32s:
        """The target ids of pair i."""
        return self.target_tokens[self.target_offsets[i] : self.target_offsets[i + 1]]


def read_shards(folder: Path) -> Pairs:
    """Read the split in `folder` (such as data/shards/C/train), in the manifest's order.

    InputError names a shard that is missing, or whose bytes are not those that the manifest beside `folder` lists.
    """
    manifest = read_json(folder.parent / "manifest.json")
    shards = [_read_shard(folder.parent, entry) for entry in manifest["splits"][folder.name]["files"]]
    return Pairs(*_flatten([shard["source"] for shard in shards]), *_flatten([shard["target"] for shard in shards]))


def _read_shard(root: Path, entry: Any) -> pa.Table:
    path = root / entry["path"]
    advice = f"delete {root} and run its stage again"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: missing, though the manifest lists it; {advice}") from None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise InputError(f"{path}: damaged: its SHA-256 is not the manifest's; {advice}")
    # As bytes: given the path, pyarrow would add a column for the `bucket=016` in it.
    return pq.ParquetFile(io.BytesIO(data)).read(columns=["source", "target"])


def _flatten(columns: list[pa.ChunkedArray]) -> tuple[Int32s, Int64s]:
    """All ids one after another, and the offsets between rows."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    tokens = [chunk.flatten().to_numpy() for chunk in chunks]
    lengths = [chunk.value_lengths().to_numpy() for chunk in chunks]
    offsets = np.concatenate([np.zeros(1, np.int64), *lengths]).cumsum(dtype=np.int64)
    return np.concatenate([np.zeros(0, np.int32), *tokens]), offsets
