"""Reads the shards that the trainer feeds on: Parquet files of token ids, listed in a manifest.

    data/shards/C/manifest.json                         what there is: rows, sizes, hashes
    data/shards/C/train/bucket=016/part-00000.parquet   columns source, target (list<int32>), line (int64)

Ids are those of the sub-word model, without begin and end symbols. Parquet is compressed and cannot be mapped into
memory, so the shards are unpacked once, into flat arrays that all ranks of a machine map and share:

    data/unpacked/C/unpacked.json              SHA-256 of the manifest it was made from, and of each array: where one
                                               is another, all is made anew
    data/unpacked/C/train/source_tokens.npy    all ids of the side, one pair after another; uint16 where they fit
    data/unpacked/C/train/source_offsets.npy   where each pair begins, and the end of the last (int64)
    data/unpacked/C/train/source_lengths.npy   ids of each pair (uint16 where they and an end symbol fit)
    data/unpacked/C/train/target_...

Two bytes a token and ten a pair and side: 4.5 million pairs of 30 tokens a side take 630 MB.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transformer.io.errors import InputError
from transformer.io.files import locked, read_json, sha256, whole_folder, write_json
from transformer.io.progress import bar

Ints = npt.NDArray[np.integer[Any]]
UINT16 = 2**16  # the first number that it does not hold
ROWS = 10_000  # unpacked at once; with pyarrow's 65,536 it takes 180 MB more


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences as ids; pair i is `tokens[offsets[i]:offsets[i + 1]]` on either side.

    Lengths are kept beside offsets because a training reads all lengths when it starts, and of the offsets, four
    times as large, only those of its batches.
    """

    source_tokens: Ints
    source_offsets: Ints
    source_lengths: Ints
    target_tokens: Ints
    target_offsets: Ints
    target_lengths: Ints

    @classmethod
    def of(cls, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> "Pairs":
        """From the ids of each sentence."""
        return cls(*_flat(sources), *_flat(targets))

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.source_lengths)

    def source(self, i: int) -> Ints:
        """The source ids of pair i."""
        return self.source_tokens[self.source_offsets[i] : self.source_offsets[i + 1]]

    def target(self, i: int) -> Ints:
        """The target ids of pair i."""
        return self.target_tokens[self.target_offsets[i] : self.target_offsets[i + 1]]


def _flat(sentences: Sequence[Sequence[int]]) -> tuple[Ints, Ints, Ints]:
    """Tokens, offsets and lengths."""
    lengths = np.array([len(sentence) for sentence in sentences], np.int32)
    tokens = np.array([i for sentence in sentences for i in sentence], np.int32)
    return tokens, np.cumsum([0, *lengths], dtype=np.int64), lengths


def read_split(folder: Path) -> Pairs:
    """Map the split in `folder` (such as data/unpacked/C/train), which `unpack` has made, in the manifest's order."""
    # A plain view: slices of np.memmap itself take ten times as long.
    return Pairs(
        **{field.name: np.asarray(np.load(folder / f"{field.name}.npy", mmap_mode="r")) for field in fields(Pairs)}
    )


def unpack(shards: Path, unpacked: Path) -> None:
    """Make the folder `unpacked` from the shards in `shards`, unless it is there, of the same manifest and undamaged.

    One process does it; others that want the same wait. It holds one row group of a shard at a time.
    InputError names a shard that is missing, or whose bytes are not those that the manifest lists.
    """
    manifest = read_json(shards / "manifest.json")
    record, of_manifest = unpacked / "unpacked.json", sha256(shards / "manifest.json")

    def is_current() -> bool:
        there = read_json(record) if record.exists() else {}
        return there == {"manifest_sha256": of_manifest, "sha256": _hashes(unpacked)}

    if is_current():
        return
    with locked(unpacked.with_suffix(".lock"), f"{unpacked}: waiting for the process that unpacks it"):
        if is_current():  # another process made it meanwhile
            return
        with whole_folder(unpacked) as folder:
            pairs = sum(split["pairs"] for split in manifest["splits"].values())
            with bar(pairs, f"unpacking {shards}", "pairs") as shown:
                for split in manifest["splits"]:
                    _unpack_split(shards, split, manifest, folder / split, shown)
            write_json(folder / record.name, {"manifest_sha256": of_manifest, "sha256": _hashes(folder)})


def _hashes(folder: Path) -> dict[str, str]:
    """Of each array. A gigabyte takes less than a second; a flipped byte would change the training without a word."""
    return {str(path.relative_to(folder)): sha256(path) for path in sorted(folder.rglob("*.npy"))}


def _unpack_split(shards: Path, split: str, manifest: Any, folder: Path, shown: Any) -> None:
    """Write the arrays of one split into `folder`, a batch of rows at a time."""
    facts = manifest["splits"][split]
    ids = np.uint16 if manifest["vocabulary"] <= UINT16 else np.int32
    # The end symbol, which the trainer adds, must fit too.
    lengths = np.uint16 if facts["longest"] + 1 < UINT16 else np.int32
    folder.mkdir()
    with ExitStack() as files:

        def array(name: str, dtype: npt.DTypeLike, length: int) -> _Array:
            return _Array(files.enter_context((folder / f"{name}.npy").open("wb")), dtype, length)

        sides = {
            side: _Side(
                array(f"{side}_tokens", ids, facts[f"{side}_tokens"]),
                array(f"{side}_offsets", np.int64, facts["pairs"] + 1),
                array(f"{side}_lengths", lengths, facts["pairs"]),
            )
            for side in ("source", "target")
        }
        for rows in _rows(shards, facts["files"]):
            for name, side in sides.items():
                side.append(rows.column(name))
            shown.update(len(rows))
    if not all(side.complete for side in sides.values()):
        raise InputError(
            f"{shards}/manifest.json: its counts of {split} are not those of its shards; {_advice(shards)}"
        )


def _rows(shards: Path, entries: Any) -> Iterator[pa.RecordBatch]:
    """All rows of the listed shards in turn; each shard is checked first."""
    for entry in entries:
        path = shards / entry["path"]
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise InputError(f"{path}: missing, though the manifest lists it; {_advice(shards)}") from None
        with file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                raise InputError(f"{path}: damaged: its SHA-256 is not the manifest's; {_advice(shards)}")
            # As an open file: given the path, pyarrow would add a column for the `bucket=016` in it.
            yield from pq.ParquetFile(file).iter_batches(ROWS, columns=["source", "target"])


def _advice(shards: Path) -> str:
    return f"delete {shards} and make the shards again"


class _Array:
    """A one-dimensional .npy file of known length, written piece by piece.

    With plain writes: the pages of a writable map would count as memory of this process until they are on disk.
    """

    def __init__(self, file: BinaryIO, dtype: npt.DTypeLike, length: int) -> None:
        self._file, self._dtype = file, np.dtype(dtype)
        self.missing = length
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (length,)}
        np.lib.format.write_array_header_1_0(file, header)

    def append(self, values: npt.NDArray[Any]) -> None:
        # Not tofile, whose error on a full disk does not say that the disk is full.
        self._file.write(values.astype(self._dtype).data)
        self.missing -= len(values)


class _Side:
    """The arrays of one side of a split."""

    def __init__(self, tokens: _Array, offsets: _Array, lengths: _Array) -> None:
        self._tokens, self._offsets, self._lengths = tokens, offsets, lengths
        self._end = np.int64(0)
        offsets.append(np.zeros(1))

    def append(self, sentences: pa.ListArray) -> None:
        lengths = sentences.value_lengths().to_numpy()
        offsets = self._end + lengths.cumsum(dtype=np.int64)
        self._tokens.append(sentences.flatten().to_numpy())
        self._lengths.append(lengths)
        self._offsets.append(offsets)
        self._end = offsets[-1]

    @property
    def complete(self) -> bool:
        return not (self._tokens.missing or self._offsets.missing or self._lengths.missing)
