"""Encodes one block of a corpus and writes its shards, a Parquet file for each bucket of lengths."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.common.settings import ShardSettings
from tasks.encoding.encoder import Encoder
from tasks.encoding.line_blocks import Block
from transformer.io.files import flush, sha256, write_json
from transformer.settings import TextSettings
from transformer.text.preparation import Preparation
from transformer.text.subwords import UNK, Subwords

SCHEMA = pa.schema([("source", pa.list_(pa.int32())), ("target", pa.list_(pa.int32())), ("line", pa.int64())])
ROW_GROUP = 10_000  # rows held in memory for each bucket; far from the 2 GiB that 32-bit offsets reach
BATCH = 20_000  # lines encoded at once
Ints = npt.NDArray[np.integer[Any]]
FAULTS = ("", "empty", "too long", "too different in length")


@dataclass(frozen=True)
class BlockWriter:
    """Writes blocks; a process has one, whose memory of words lasts from block to block.

    Args:
        model: path of the sub-word model.
        text: what is done to text before.
        languages: codes of source and target.
        settings: which pairs are left out, and the buckets.
        folder: in which the folders of the splits are.
        records: folder with a file for each block that is done: what `__call__` says, and its `files`.
        counter: of lines that are done, shared by all processes.
    """

    model: Path
    text: TextSettings
    languages: tuple[str, str]
    settings: ShardSettings
    folder: Path
    records: Path
    counter: "Synchronized[int]"

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(Subwords(self.model))

    @cached_property
    def _prepare(self) -> list[Callable[[list[str]], list[str]]]:
        """For each side what the corpus's text settings ask for besides normalising, which the encoder does anyway."""
        if self.text == TextSettings(lowercase=False, tokenise="none"):
            return [list, list]
        sides = [Preparation(self.text, language) for language in self.languages]
        return [lambda lines, side=side: list(map(side.prepare, lines)) for side in sides]  # type: ignore[misc]

    def record(self, block: Block) -> Path:
        """The file that is there once all shards of the block are on disk."""
        return self.records / f"{block.split}-{block.number:05d}.json"

    def __call__(self, block: Block) -> None:
        """Write the shards of a block, then its record: counts of pairs, tokens, unknown ones and dropped pairs."""
        counts: Counter[str] = Counter()
        longest = 0
        shards: dict[int, _Shard] = {}
        for batch in self._batches(block):
            lengths = [batch.column(side).value_lengths().to_numpy() for side in ("source", "target")]
            faults, buckets = classify(lengths[0], lengths[1], self.settings)
            counts.update(f"dropped: {FAULTS[fault]}" for fault in faults[faults > 0].tolist())
            for bucket in np.unique(buckets[faults == 0]).tolist():
                rows = batch.take(pa.array(np.flatnonzero((faults == 0) & (buckets == bucket))))
                counts.update(_count(rows))
                if bucket not in shards:
                    folder = self.folder / block.split / f"bucket={bucket:03d}"
                    shards[bucket] = _Shard(folder / f"part-{block.number:05d}.parquet")
                shards[bucket].add(rows)
            longest = max(longest, int(np.maximum(*lengths)[faults == 0].max(initial=0)))
            with self.counter.get_lock():
                self.counter.value += len(batch)
        files = [shards[bucket].close(self.folder) for bucket in sorted(shards)]
        write_json(self.record(block), {"counts": counts, "longest": longest, "files": files})

    def _batches(self, block: Block) -> Iterator[pa.RecordBatch]:
        """Every pair as ids, with its line number."""
        first = block.first
        for sides in block.read(BATCH):
            ids = [self._encoder.encode(prepare(lines)) for prepare, lines in zip(self._prepare, sides, strict=True)]
            lines = pa.array(np.arange(first, first + len(sides[0])))
            yield pa.record_batch([*ids, lines], schema=SCHEMA)
            first += len(lines)


def classify(source_lengths: Ints, target_lengths: Ints, settings: ShardSettings) -> tuple[Ints, Ints]:
    """For each pair: why it is left out, as a place in FAULTS (0 if it is kept), and the bound of its bucket."""
    shorter, longer = np.minimum(source_lengths, target_lengths), np.maximum(source_lengths, target_lengths)
    reasons = [shorter == 0, longer > settings.max_length, longer + 1 > settings.max_ratio * (shorter + 1)]
    bounds = np.array([*settings.buckets, 0])  # the last for those that are too long
    return np.select(reasons, [1, 2, 3], 0), bounds[np.searchsorted(settings.buckets, longer)]


def _count(rows: pa.RecordBatch) -> dict[str, int]:
    ids = {side: rows.column(side).flatten().to_numpy() for side in ("source", "target")}
    unknown = sum(int(np.count_nonzero(side == UNK)) for side in ids.values())
    tokens = {f"{side}_tokens": len(ids[side]) for side in ids}
    return {"pairs": len(rows), "unknown": unknown, **tokens}


class _Shard:
    """A Parquet file that is written a row group at a time."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.rows = path, 0
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._held: list[pa.RecordBatch] = []
        self._holds = 0

    def add(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self._holds += len(rows)
        self.rows += len(rows)
        if self._holds >= ROW_GROUP:
            table = self._table()
            whole = len(table) // ROW_GROUP * ROW_GROUP
            self._writer.write_table(table.slice(0, whole), row_group_size=ROW_GROUP)
            self._held, self._holds = table.slice(whole).to_batches(), len(table) - whole

    def close(self, root: Path) -> dict[str, Any]:
        """Write what is held; the file's entry in the manifest in `root`, once all of it is on disk."""
        if self._holds:
            self._writer.write_table(self._table(), row_group_size=ROW_GROUP)
        self._writer.close()
        flush(self.path)
        return {"path": str(self.path.relative_to(root)), "rows": self.rows, "sha256": sha256(self.path)}

    def _table(self) -> pa.Table:
        # In one piece: where pieces end would show in the bytes of the file.
        return pa.Table.from_batches(self._held).combine_chunks()
