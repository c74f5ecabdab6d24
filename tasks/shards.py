"""Stage `shards`: encode train and valid, put them into buckets by length, write Parquet.

    python -m tasks.shards C

in:   data/corpora/C/       train.SRC, train.TGT, valid.SRC, valid.TGT, corpus.json
      data/subwords/C/      subwords.model, subwords.json
out:  data/shards/C/        manifest.json                          rows, sizes, hashes, what was dropped and why
                            train/bucket=016/part-00000.parquet    pairs whose longer side has 13 to 16 ids
                            valid/...

Columns: `source` and `target` (list<int32>, ids without begin and end symbols), `line` (int64, from 1, in the corpus's
file). Readable by pandas, pyarrow.dataset and `datasets` alike; the folder `bucket=016` is a column to the first two.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.paths import CORPORA, SHARDS, SUBWORDS
from tasks.settings import ShardSettings, key_argument, read_corpus
from transformer.errors import InputError, run_main
from transformer.files import read_json, sha256, whole_folder, write_json
from transformer.progress import bar
from transformer.settings import TextSettings
from transformer.subwords import UNK, Subwords
from transformer.text import Preparation

SCHEMA = pa.schema([("source", pa.list_(pa.int32())), ("target", pa.list_(pa.int32())), ("line", pa.int64())])
ROW_GROUP = 10_000  # rows held in memory for each bucket; far from the 2 GiB that 32-bit offsets reach
BATCH = 5_000  # lines encoded at once

Row = tuple[list[int], list[int], int]


def write_shards(corpus: Path, subwords: Path, settings: ShardSettings, out: Path) -> None:
    """Write the folder `out` from train and valid of `corpus`; the same input gives the same bytes.

    InputError if no pair of a split is left within the bounds of the settings.
    """
    description = read_json(corpus / "corpus.json")
    model = Subwords(subwords / "subwords.model")
    text = TextSettings(**read_json(subwords / "subwords.json")["text"])
    preparations = [Preparation(text, description["languages"][side]) for side in ("source", "target")]
    with whole_folder(out) as folder:
        splits = {}
        for split in ("train", "valid"):
            paths = [corpus / f"{split}.{description['languages'][side]}" for side in ("source", "target")]
            rows = _encode(paths, description["pairs"][split], preparations, model)
            splits[split] = _write_split(folder, split, rows, settings)
            if not splits[split]["pairs"]:
                dropped = ", ".join(f"{count} {reason}" for reason, count in splits[split]["dropped"].items())
                raise InputError(
                    f"{paths[0]}: no pair is within the bounds of shards.max_length and max_ratio ({dropped})"
                )
        known = {"languages": description["languages"], "vocabulary": model.size, "subwords_sha256": model.sha256}
        write_json(folder / "manifest.json", {**known, "splits": splits})


def _encode(paths: list[Path], pairs: int, preparations: list[Preparation], model: Subwords) -> Iterator[Row]:
    """Every pair as ids, with its line number."""
    with (
        paths[0].open(encoding="utf-8", newline="\n") as source,
        paths[1].open(encoding="utf-8", newline="\n") as target,
        bar(pairs, f"encoding {paths[0].stem}", "pairs") as shown,
    ):
        numbered = zip(source, target, itertools.count(1), strict=False)
        while batch := list(itertools.islice(numbered, BATCH)):
            sources, targets, lines = zip(*batch, strict=True)
            ids = (
                model.encode(map(preparation.prepare, side))
                for preparation, side in zip(preparations, (sources, targets), strict=True)
            )
            yield from zip(*ids, lines, strict=True)
            shown.update(len(batch))


def _write_split(root: Path, split: str, rows: Iterator[Row], settings: ShardSettings) -> dict[str, Any]:
    """Write one split below `root`; return its part of the manifest."""
    buckets = {
        bound: _Bucket(root / split / f"bucket={bound:03d}", settings.rows_per_shard) for bound in settings.buckets
    }
    dropped: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    longest = 0
    for row in rows:
        if reason := _fault(row, settings):
            dropped[reason] += 1
            continue
        source, target, _ = row
        length = max(len(source), len(target))
        buckets[settings.buckets[bisect.bisect_left(settings.buckets, length)]].add(row)
        longest = max(longest, length)
        counts.update(pairs=1, source_tokens=len(source), target_tokens=len(target))
        counts["unknown"] += source.count(UNK) + target.count(UNK)
    files = [entry for bucket in buckets.values() for entry in bucket.close()]
    for entry in files:
        path = entry["path"]
        entry |= {"path": str(path.relative_to(root)), "sha256": sha256(path)}
    tokens = counts["source_tokens"] + counts["target_tokens"]
    return {
        "pairs": counts["pairs"],
        "source_tokens": counts["source_tokens"],
        "target_tokens": counts["target_tokens"],
        "longest": longest,
        "unknown_share": counts["unknown"] / max(1, tokens),
        "dropped": dict(sorted(dropped.items())),
        "files": files,
    }


def _fault(row: Row, settings: ShardSettings) -> str | None:
    """Why a pair must be left out, if it must."""
    shorter, longer = sorted((len(row[0]), len(row[1])))
    if shorter == 0:
        return "empty"
    if longer > settings.max_length:
        return "too long"
    if longer + 1 > settings.max_ratio * (shorter + 1):
        return "too different in length"
    return None


class _Bucket:
    """The shards of one bucket, written a row group at a time."""

    def __init__(self, folder: Path, rows_per_shard: int) -> None:
        self._folder = folder
        self._rows_per_shard = rows_per_shard
        self._held: list[Row] = []
        self._writer: pq.ParquetWriter | None = None
        self._files: list[dict[str, Any]] = []

    def add(self, row: Row) -> None:
        if self._writer is None:
            self._open()
        self._held.append(row)
        if len(self._held) == min(ROW_GROUP, self._rows_per_shard - self._files[-1]["rows"]):
            self._write()

    def close(self) -> list[dict[str, Any]]:
        """Write what is held; return the path and number of rows of each shard."""
        if self._held:
            self._write()
        self._finish()
        return self._files

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"part-{len(self._files):05d}.parquet"
        self._files.append({"path": path, "rows": 0})
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")

    def _write(self) -> None:
        assert self._writer is not None
        columns = zip(*self._held, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        self._writer.write_table(pa.table(arrays, schema=SCHEMA), row_group_size=ROW_GROUP)
        self._files[-1]["rows"] += len(self._held)
        self._held.clear()
        if self._files[-1]["rows"] == self._rows_per_shard:
            self._finish()

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def main() -> None:
    """Write the shards of the corpus named on the command line."""
    name = key_argument("corpus")
    write_shards(CORPORA / name, SUBWORDS / name, read_corpus(name, "shards").shards, SHARDS / name)


if __name__ == "__main__":
    run_main(main)
