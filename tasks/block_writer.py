"""Encodes one block of a corpus and writes its shards, a Parquet file for each bucket of lengths."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.blocks import Block
from tasks.encoding import Encoder
from tasks.settings import ShardSettings
from transformer.files import flush, sha256, write_json
from transformer.settings import TextSettings
from transformer.subwords import UNK, Subwords
from transformer.text import Preparation

SCHEMA = pa.schema([("source", pa.list_(pa.int32())), ("target", pa.list_(pa.int32())), ("line", pa.int64())])
ROW_GROUP = 10_000  # rows held in memory for each bucket; far from the 2 GiB that 32-bit offsets reach
BATCH = 20_000  # lines encoded at once
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
        """For each side what is done before normalising, which the encoder does."""
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
        buckets: dict[int, _Shard] = {}
        for batch in self._batches(block):
            source, target = (batch.column(side).value_lengths().to_numpy() for side in ("source", "target"))
            faults = find_faults(source, target, self.settings)
            for fault, count in zip(*np.unique(faults[faults > 0], return_counts=True), strict=True):
                counts[f"dropped: {FAULTS[fault]}"] += int(count)
            longer = np.maximum(source, target)
            places = np.where(faults > 0, -1, np.searchsorted(self.settings.buckets, longer))
            for place in np.unique(places[places >= 0]).tolist():
                rows = batch.take(pa.array(np.flatnonzero(places == place)))
                self._count(rows, counts)
                if place not in buckets:
                    folder = self.folder / block.split / f"bucket={self.settings.buckets[place]:03d}"
                    buckets[place] = _Shard(folder / f"part-{block.number:05d}.parquet")
                buckets[place].add(rows)
            longest = max(longest, int(longer[places >= 0].max(initial=0)))
            with self.counter.get_lock():
                self.counter.value += len(batch)
        files = [self._entry(buckets[place].close()) for place in sorted(buckets)]
        write_json(self.record(block), {"counts": counts, "longest": longest, "files": files})

    def _batches(self, block: Block) -> Iterator[pa.RecordBatch]:
        """Every pair as ids, with its line number."""
        first = block.first
        for sides in block.read(BATCH):
            ids = [self._encoder.encode(prepare(lines)) for prepare, lines in zip(self._prepare, sides, strict=True)]
            lines = pa.array(np.arange(first, first + len(sides[0])))
            yield pa.record_batch([*ids, lines], schema=SCHEMA)
            first += len(lines)

    def _count(self, rows: pa.RecordBatch, counts: Counter[str]) -> None:
        counts["pairs"] += len(rows)
        for side in ("source", "target"):
            ids = rows.column(side).flatten()
            counts[f"{side}_tokens"] += len(ids)
            counts["unknown"] += int(np.count_nonzero(ids.to_numpy() == UNK))

    def _entry(self, shard: "_Shard") -> dict[str, Any]:
        path = shard.path
        return {"path": str(path.relative_to(self.folder)), "rows": shard.rows, "sha256": sha256(path)}


def find_faults(source_lengths: Any, target_lengths: Any, settings: ShardSettings) -> Any:
    """Why each pair must be left out, as a place in FAULTS; 0 if it is kept."""
    shorter, longer = np.minimum(source_lengths, target_lengths), np.maximum(source_lengths, target_lengths)
    reasons = [shorter == 0, longer > settings.max_length, longer + 1 > settings.max_ratio * (shorter + 1)]
    return np.select(reasons, [1, 2, 3], 0)


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

    def close(self) -> "_Shard":
        """Write what is held; all of it is on disk then."""
        if self._holds:
            self._writer.write_table(self._table(), row_group_size=ROW_GROUP)
        self._writer.close()
        flush(self.path)
        return self

    def _table(self) -> pa.Table:
        # In one piece: where pieces end would show in the bytes of the file.
        return pa.Table.from_batches(self._held).combine_chunks()
