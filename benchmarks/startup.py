"""Time and memory from the start of a training to its first batch, at the sizes of the paper's corpora.

    python -m benchmarks.startup                    # 4.5 million pairs (WMT14 en-de) and 36 million (en-fr)
    python -m benchmarks.startup --pairs 100_000    # less

For each size it writes shards of made-up sentences with lengths like WMT14's into a temporary folder, then starts two
fresh processes: one unpacks the shards as `tasks.train --check` does, one goes on as a rank of `base` does, up to the
first batch. Both find their files outside the page cache, where the system allows that. Takes four minutes and 10 GB
of temporary space. Writes reports/benchmarks/startup.md.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.common.settings import ShardSettings, read_corpus, read_experiment
from tasks.encoding.block_writer import ROW_GROUP, SCHEMA
from transformer.io.files import sha256, whole_file, write_json
from transformer.io.progress import bar
from transformer.io.shards import read_split, unpack

PAIRS = [4_500_000, 36_000_000]
AIMS = {4_500_000: "30 s, 1 GiB", 36_000_000: "60 s, 2 GiB"}
REPORT = Path("reports/benchmarks/startup.md")
VOCABULARY = 37_000
VALID_PAIRS = 3000
MEDIAN_LENGTH, SPREAD = 24, 0.6  # of a log-normal distribution: 29 ids a side on average, 97 at the 99th percentile


def main() -> None:
    """Measure each size and write the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.startup",
        description="Measure time and memory from the start of a training to its first batch.",
        epilog="example: python -m benchmarks.startup --pairs 100_000",
    )
    parser.add_argument("--pairs", type=int, nargs="+", default=PAIRS, help="sizes of the corpora")
    rows = [row for pairs in parser.parse_args().pairs for row in measure(pairs)]
    text = report(rows)
    print(text)
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(REPORT) as temporary:
        temporary.write_text(text, encoding="utf-8")


def measure(pairs: int) -> list[dict[str, Any]]:
    """One row for unpacking, one for a rank."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # In a process of its own: what this one takes would count as the others' peak.
        in_fresh_process("write_corpus", folder, pairs)
        leave_page_cache(folder)
        first = in_fresh_process("unpack_as_check", folder)
        leave_page_cache(folder)
        return [{"pairs": pairs, **first}, {"pairs": pairs, **in_fresh_process("start_rank", folder)}]


def in_fresh_process(function: str, folder: Path, *arguments: int) -> Any:
    """What a function of this module says of itself; with the seconds since the start of its process, and its peak."""
    call = ", ".join([f"Path({str(folder)!r})", *map(str, arguments)])
    code = f"from pathlib import Path; from benchmarks import startup; startup.tell(startup.{function}({call}))"
    started = time.time()
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    return {**told, "seconds": told["ready"] - started}


def tell(facts: dict[str, Any]) -> None:
    """Print what `in_fresh_process` reads."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({**facts, "ready": time.time(), "peak": peak}))


def unpack_as_check(folder: Path) -> dict[str, Any]:
    """The part of `tasks.train --check` that depends on the size of the corpus, with all its imports."""
    import tasks.train  # noqa: F401

    unpack(folder / "shards", folder / "unpacked")
    size = sum(path.stat().st_size for path in (folder / "unpacked").rglob("*.npy"))
    return {"what": f"unpack, once ({size / 1e9:.1f} GB)"}


def start_rank(folder: Path) -> dict[str, Any]:
    """A rank of `base`, up to its first batch."""
    import tasks.train
    from transformer.batches import collate, divide, plan_epoch
    from transformer.trainer import Trainer

    settings = read_experiment("base", *tasks.train.SECTIONS)
    unpack(folder / "shards", folder / "unpacked")
    train, valid = read_split(folder / "unpacked/train"), read_split(folder / "unpacked/valid")
    trainer = Trainer(settings.model, settings.training, VOCABULARY, train, valid, folder / "state")
    plan = plan_epoch(*trainer.train_lengths, settings.training.tokens_per_update, settings.training.seed, epoch=0)
    collate(train, divide(plan[0], *trainer.train_lengths, 1, trainer.tokens_per_device)[0])
    return {"what": "a rank: import torch, map, build `base`, plan the epoch, first batch"}


def leave_page_cache(folder: Path) -> None:
    """Have the next process read from disk, where the system can be told so."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_corpus(folder: Path, pairs: int) -> dict[str, Any]:
    """Shards as `tasks.shards` writes them for `base`, of ids that are as frequent as words are (Zipf)."""
    settings = read_corpus(read_experiment("base", "corpus").corpus, "shards").shards
    random = np.random.default_rng(1)
    ids = np.exp(random.random(2**24) * np.log(VOCABULARY)).astype(np.int32)
    with bar(pairs + VALID_PAIRS, f"writing {pairs:,} pairs", "pairs") as shown:
        splits = {
            split: _write_split(folder / "shards", split, count, settings, ids, random, shown)
            for split, count in (("train", pairs), ("valid", VALID_PAIRS))
        }
    write_json(folder / "shards/manifest.json", {"vocabulary": VOCABULARY, "splits": splits})
    return {}


def _write_split(
    root: Path, split: str, pairs: int, settings: ShardSettings, ids: Any, random: Any, shown: Any
) -> dict[str, Any]:
    length = random.lognormal(np.log(MEDIAN_LENGTH), SPREAD, pairs)
    lengths = [(length * random.lognormal(0, 0.15, pairs)).clip(1, settings.max_length).astype(np.int32) for _ in "st"]
    buckets = np.searchsorted(settings.buckets, np.maximum(*lengths))
    files = []
    for number, bound in enumerate(settings.buckets):
        rows = np.flatnonzero(buckets == number)
        for part, start in enumerate(range(0, len(rows), settings.rows_per_shard)):
            path = root / split / f"bucket={bound:03d}" / f"part-{part:05d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
                for first in range(start, min(start + settings.rows_per_shard, len(rows)), ROW_GROUP):
                    group = rows[first : min(first + ROW_GROUP, start + settings.rows_per_shard)]
                    columns = [_sentences(side[group], ids, random) for side in lengths]
                    writer.write_table(pa.table([*columns, pa.array(group + 1)], schema=SCHEMA))
                    shown.update(len(group))
            files.append({"path": str(path.relative_to(root)), "sha256": sha256(path)})
    source_tokens, target_tokens = (int(side.sum()) for side in lengths)
    longest = max(int(side.max()) for side in lengths)
    return {
        "pairs": pairs,
        "source_tokens": source_tokens,
        "target_tokens": target_tokens,
        "longest": longest,
        "files": files,
    }


def _sentences(lengths: Any, ids: Any, random: Any) -> pa.Array:
    """Sentences of these lengths, cut from a random place of the text `ids`."""
    offsets = np.concatenate([[0], lengths.cumsum()])
    start = random.integers(len(ids) - offsets[-1])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ids[start : start + offsets[-1]]))


def report(rows: list[dict[str, Any]]) -> str:
    """The table, and what it was measured on."""
    lines = [
        "# Start-up",
        "",
        "From the start of a process to its first batch, and the most memory that it held on the way. Written by",
        "`python -m benchmarks.startup`; the sentences are made up, with lengths like those of WMT14.",
        "",
        "| pairs | process | seconds | peak memory, GiB | aim |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        aim = AIMS.get(row["pairs"], "")
        lines.append(f"| {row['pairs']:,} | {row['what']} | {row['seconds']:.1f} | {row['peak'] / 2**30:.2f} | {aim} |")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    lines += [
        "",
        "The shards are unpacked before the first training on them; later ones start with the second row.",
        "Files were not in the page cache." if hasattr(os, "posix_fadvise") else "Files were in the page cache.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {load}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
