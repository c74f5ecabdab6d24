"""Shards unpacked into arrays: once, of the right shards, the same pairs in few bytes."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from transformer.io.errors import InputError
from transformer.io.shards import Pairs, read_split, unpack

TRAIN = [([5, 6, 7], [8]), ([9], [10, 11]), ([4], [4]), ([12, 13], [14, 15, 16, 17])]
VALID = [([5], [6, 7])]


def write_shards(folder: Path, train: Any = TRAIN, vocabulary: int = 20) -> Path:
    """Two pairs a shard, and the manifest."""
    splits = {}
    for split, pairs in (("train", train), ("valid", VALID)):
        files = []
        for start in range(0, len(pairs), 2):
            path = folder / split / f"bucket=008/part-{start:05d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            source, target = zip(*pairs[start : start + 2], strict=True)
            lists = pa.list_(pa.int32())
            pq.write_table(pa.table({"source": pa.array(source, lists), "target": pa.array(target, lists)}), path)
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            files.append({"path": str(path.relative_to(folder)), "sha256": sha256})
        splits[split] = {
            "pairs": len(pairs),
            "source_tokens": sum(len(source) for source, _ in pairs),
            "target_tokens": sum(len(target) for _, target in pairs),
            "longest": max(max(len(source), len(target)) for source, target in pairs),
            "files": files,
        }
    (folder / "manifest.json").write_text(json.dumps({"vocabulary": vocabulary, "splits": splits}))
    return folder


def read(shards: Path, split: str = "train") -> Pairs:
    unpack(shards, shards.with_name("unpacked"))
    return read_split(shards.with_name("unpacked") / split)


def as_lists(pairs: Pairs) -> list[tuple[list[int], list[int]]]:
    return [(pairs.source(i).tolist(), pairs.target(i).tolist()) for i in range(len(pairs))]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "shards")


def test_unpacked_pairs_are_those_of_the_shards_in_order(shards: Path) -> None:
    assert as_lists(read(shards)) == TRAIN
    assert as_lists(read(shards, "valid")) == VALID
    assert read(shards).source_lengths.tolist() == [3, 1, 1, 2]
    assert read(shards).target_lengths.tolist() == [1, 2, 1, 4]


def test_arrays_are_mapped_and_cannot_be_written(shards: Path) -> None:
    pairs = read(shards)
    assert isinstance(pairs.source_tokens.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        pairs.source_tokens[0] = 1


@pytest.mark.parametrize(("vocabulary", "largest", "kind"), [(2**16, 65_535, np.uint16), (2**16 + 1, 65_536, np.int32)])
def test_ids_take_two_bytes_where_they_fit(tmp_path: Path, vocabulary: int, largest: int, kind: type) -> None:
    pairs = read(write_shards(tmp_path / "shards", [([largest], [4])], vocabulary))
    assert pairs.source_tokens.dtype == pairs.target_tokens.dtype == kind
    assert pairs.source(0).tolist() == [largest]


@pytest.mark.parametrize(("length", "kind"), [(65_534, np.uint16), (65_535, np.int32)])
def test_lengths_take_two_bytes_where_the_end_symbol_fits_too(tmp_path: Path, length: int, kind: type) -> None:
    pairs = read(write_shards(tmp_path / "shards", [([4] * length, [4])]))
    assert pairs.source_lengths.dtype == kind
    assert (pairs.source_lengths + 1).tolist() == [length + 1]


def test_what_is_unpacked_is_not_unpacked_again(shards: Path) -> None:
    read(shards)
    for path in shards.rglob("*.parquet"):
        path.unlink()
    assert as_lists(read(shards)) == TRAIN


def test_changed_shards_are_unpacked_again_and_the_old_ones_stay_readable(shards: Path) -> None:
    before = read(shards)
    write_shards(shards, TRAIN[:2])
    assert as_lists(read(shards)) == TRAIN[:2]
    assert as_lists(before) == TRAIN  # a training that runs on them goes on
    assert [path.name for path in shards.with_name("unpacked").parent.iterdir() if path.name[0] == "."] == []


@pytest.mark.fault("F18")
@pytest.mark.parametrize(
    ("damage", "word"),
    [(lambda path: path.unlink(), "missing"), (lambda path: path.write_bytes(path.read_bytes()[:-9]), "damaged")],
)
def test_a_bad_shard_is_named_and_nothing_is_left(shards: Path, damage: Any, word: str) -> None:
    damage(shards / "train/bucket=008/part-00002.parquet")
    with pytest.raises(InputError, match=rf"part-00002\.parquet: {word}"):
        read(shards)
    assert not list(shards.parent.glob("*unpacked*/"))


def test_a_manifest_whose_counts_are_wrong_is_refused(shards: Path) -> None:
    manifest = shards / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"pairs": 4', '"pairs": 5'))
    with pytest.raises(InputError, match=r"manifest\.json: its counts of train are not those of its shards"):
        read(shards)


def flip_last_bit(path: Path) -> None:
    """As a disk that errs: the file says that it is as old as before."""
    about, content = path.stat(), path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-1]), flip_last_bit]
)
def test_a_damaged_array_is_made_again(shards: Path, damage: Any) -> None:
    read(shards)
    damage(shards.with_name("unpacked") / "train/target_tokens.npy")
    assert as_lists(read(shards)) == TRAIN


def test_one_process_unpacks_while_the_others_wait(shards: Path) -> None:
    code = "import sys, pathlib; from transformer.io.shards import unpack; unpack(*map(pathlib.Path, sys.argv[1:]))"
    unpacked = shards.with_name("unpacked")
    with FileLock(unpacked.with_suffix(".lock")):
        others = [
            subprocess.Popen([sys.executable, "-c", code, shards, unpacked], stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        said = [other.stderr.readline() for other in others if other.stderr]
    assert said == [f"{unpacked}: waiting for the process that unpacks it\n"] * 2
    rest = [other.communicate(timeout=240)[1] for other in others]
    assert [other.returncode for other in others] == [0, 0], rest
    assert sum("unpacking" in text for text in rest) == 1
    assert as_lists(read(shards)) == TRAIN
