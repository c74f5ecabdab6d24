"""Stage `shards`: encode train and valid, put them into buckets by length, write Parquet.

    python -m tasks.shards C

in:   data/corpora/C/       train.SRC, train.TGT, valid.SRC, valid.TGT, corpus.json
      data/subwords/C/      subwords.model, subwords.json
out:  data/shards/C/        manifest.json                          rows, sizes, hashes, what was dropped and why
                            train/bucket=016/part-00000.parquet    pairs whose longer side has 13 to 16 ids
                            valid/...

Columns: `source` and `target` (list<int32>, ids without begin and end symbols), `line` (int64, from 1, in the corpus's
file). Readable by pandas, pyarrow.dataset and `datasets` alike; the folder `bucket=016` is a column to the first two.

The corpus is cut into blocks of `rows_per_shard` lines; part K of a bucket holds what block K has of its lengths, so
that the number of processes changes no byte. All is written into data/shards/.C.unfinished, with a record of each block
that is done. Started again after a stop, the stage does the other blocks, unless its input or its code changed.
"""

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tasks.common.markdown import listed
from tasks.common.noted import check_files
from tasks.common.ordered_pool import in_order, usable_processors
from tasks.common.paths import CORPORA, SHARDS, SUBWORDS
from tasks.common.settings import ShardSettings, key_argument, read_corpus
from tasks.encoding.block_writer import BlockWriter
from tasks.encoding.line_blocks import Block, cut
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, resumed_folder, sha256, write_json
from transformer.io.progress import bar, every
from transformer.settings import TextSettings
from transformer.text.subwords import Subwords

SPLITS = ("train", "valid")
MOST_PROCESSES = 8  # each takes 300 MB
WORTH_A_PROCESS = 100_000  # pairs: fewer are encoded before another process has started
# Of another version of these, blocks may have other bytes.
MAKERS = ("tasks/encoding/*.py", "tasks/shards.py", "transformer/text/*.py")
LIBRARIES = ("numpy", "pyarrow", "regex", "sacremoses", "sentencepiece")


def write_shards(corpus: Path, subwords: Path, settings: ShardSettings, out: Path, processes: int = 1) -> None:
    """Write the folder `out` from train and valid of `corpus`; the same input gives the same bytes.

    InputError if the files are not those that corpus.json and subwords.json describe, or if no pair of a split is left
    within the bounds of the settings.
    """
    description = read_json(corpus / "corpus.json")
    languages = description["languages"]["source"], description["languages"]["target"]
    check_files(corpus, description.get("sha256", {}), [f"{split}.{code}" for split in SPLITS for code in languages])
    learned = read_json(subwords / "subwords.json")
    check_files(subwords, {"subwords.model": learned["sha256"]}, ["subwords.model"])
    model = Subwords(subwords / "subwords.model")
    text = TextSettings(**learned["text"])
    made_from = {"corpus": sha256(corpus / "corpus.json"), "subwords": model.sha256, "text": text.model_dump()}
    made_from |= {"settings": settings.model_dump(), "made_by": _made_by()}
    blocks = [block for split in SPLITS for block in _cut(corpus, split, description, settings)]
    with resumed_folder(out, made_from) as folder:
        counter = get_context("spawn").Value("q", 0)
        write = BlockWriter(model.path, text, languages, settings, folder, folder.parent / "done", counter)
        left = [block for block in blocks if not write.record(block).exists()]
        counter.value = sum(block.lines for block in blocks) - sum(block.lines for block in left)
        with _shown(counter, sum(block.lines for block in blocks), f"encoding {corpus.name}"):
            for _ in in_order(write, left, processes, few=1):
                pass
        records = {
            split: [read_json(write.record(block)) for block in blocks if block.split == split] for split in SPLITS
        }
        splits = {split: _sum_up(corpus / f"{split}.{languages[0]}", of_split) for split, of_split in records.items()}
        known = {"languages": description["languages"], "vocabulary": model.size, "subwords_sha256": model.sha256}
        write_json(folder / "manifest.json", {**known, "splits": splits})
    _say(corpus.name, splits)


def _say(name: str, splits: dict[str, Any]) -> None:
    """How many pairs there are to train on, and which were left out; a training keeps the counts for the reports."""
    for split, facts in splits.items():
        kept, dropped = f"{name}: {facts['pairs']:,} pairs of {split}", facts["dropped"]
        print(f"{kept}; left out by the bounds in `shards`: {listed(dropped)}", file=sys.stderr)


def _made_by() -> dict[str, str]:
    project = Path(__file__).parents[1]
    files = [path for pattern in MAKERS for path in sorted(project.glob(pattern))]
    code = {str(path.relative_to(project)): sha256(path) for path in files}
    return code | {name: version(name) for name in LIBRARIES} | {"unicode": unicodedata.unidata_version}


def _cut(corpus: Path, split: str, description: Any, settings: ShardSettings) -> list[Block]:
    source, target = (corpus / f"{split}.{description['languages'][side]}" for side in ("source", "target"))
    return cut(split, (source, target), description["pairs"][split], settings.rows_per_shard)


@contextmanager
def _shown(counter: Any, lines: int, what: str) -> Iterator[None]:
    """A bar that follows a counter which several processes share."""
    with bar(lines, what, "pairs", done=counter.value) as shown:

        def follow() -> None:
            shown.update(counter.value - shown.n)

        with every(0.5, follow):
            yield
        follow()


def _sum_up(source: Path, records: list[Any]) -> dict[str, Any]:
    """The manifest's part on one split; InputError if nothing of it is left."""
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record["counts"])
    prefix = "dropped: "
    dropped = {key.removeprefix(prefix): n for key, n in sorted(counts.items()) if key.startswith(prefix)}
    if not counts["pairs"]:
        bounds = "the bounds of shards.max_length and max_ratio"
        raise InputError(f"{source}: no pair is within {bounds} ({listed(dropped)})")
    return {
        "pairs": counts["pairs"],
        "source_tokens": counts["source_tokens"],
        "target_tokens": counts["target_tokens"],
        "longest": max(record["longest"] for record in records),
        "unknown_share": counts["unknown"] / (counts["source_tokens"] + counts["target_tokens"]),
        "dropped": dropped,
        # By bucket, then by part; a bound of four digits makes a longer path.
        "files": sorted(
            (file for record in records for file in record["files"]), key=lambda file: (len(file["path"]), file["path"])
        ),
    }


def main() -> None:
    """Write the shards of the corpus named on the command line."""
    name = key_argument("corpus")
    settings = read_corpus(name, "shards").shards
    small = read_json(CORPORA / name / "corpus.json")["pairs"]["train"] < WORTH_A_PROCESS
    processes = 1 if small else min(usable_processors(), MOST_PROCESSES)
    write_shards(CORPORA / name, SUBWORDS / name, settings, SHARDS / name, processes)


if __name__ == "__main__":
    run_main(main)
