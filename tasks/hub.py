"""Text from a data set of the Hugging Face hub, or from a folder in its layout, read as a stream.

    wmt/wmt14@main   or   FOLDER
        de-en/train-00000-of-00003.parquet ... validation-00000-of-00001.parquet test-00000-of-00001.parquet

Each row has a struct `translation` with one text for each language. Memory holds one row group of one file.

The files are read by pyarrow.parquet and not through `datasets.load_dataset(..., streaming=True)`. With datasets 5.2.0
and pyarrow 25.0.1 a thread of Arrow may hold a file a little longer than the stream: in 2 of 9 processes one was still
held after the stream was closed and `gc.collect()` had run, and gone 10 ms later. A process that ends meanwhile aborts,
with exit code 134 where 0 or 2 is due (apache/arrow#45214, huggingface/datasets#7566). It takes a
busy machine; of processes that ended right after reading 21,000 rows, or some of them, there aborted

    datasets, read to the end                                                9 of 24, on later days 0 of 64
    datasets, read to the end, let go and collected                          0 of 38
    datasets, broken off as by text that is refused, closed                  2 of 12
    datasets, broken off as by text that is refused, closed and collected    1 of 29
    this module, broken off by its caller                                    0 of 16

For files on this machine `load_dataset` also calls a server, to be counted, and writes to the hub's cache.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.direction import check_direction
from tasks.hashes import digests
from tasks.parallel_files import expand
from tasks.settings import HubOrigin, Languages
from tasks.texts import Pair, Texts
from transformer.errors import InputError

SPLITS = {"train": "train", "valid": "validation", "test": "test"}
ROWS = 1000  # at once

File = tuple[str, Callable[[], Any]]  # its name, and what opens it for reading bytes


def read_hub(origin: HubOrigin, languages: Languages) -> Texts:
    """The pairs of all splits; InputError if the hub or the folder does not have them."""
    files = _in_folder(origin) if is_folder(origin) else _on_hub(origin)
    pairs = {
        split: check_direction(_read(found, languages), languages, f"{origin.config}, {split}")
        for split, found in files.items()
    }
    sources = [
        {"split": split, "licence": origin.terms, **_known_by(origin, name)}
        for split, found in files.items()
        for name, _ in found
    ]
    about = f"From a data set in the layout of the Hugging Face hub, split as it is. Validation is {origin.valid}."
    return Texts(dict(pairs), about, sources)


def is_folder(origin: HubOrigin) -> bool:
    """Whether the data set is a folder on this machine."""
    return origin.dataset.startswith(("/", ".", "~", "$"))


def find_parquet(origin: HubOrigin) -> dict[str, list[Path]]:
    """The files of each split in a folder; InputError if a split has none or the folder's variable is not set."""
    folder = expand(origin.dataset, "origin.dataset") / origin.config
    files = {split: sorted(folder.glob(f"{name}-*.parquet")) for split, name in SPLITS.items()}
    for split, found in files.items():
        if not found:
            raise InputError(f"{folder}: no file {SPLITS[split]}-*.parquet (origin.dataset, origin.config)")
    return files


def _in_folder(origin: HubOrigin) -> dict[str, list[File]]:
    def opener(path: Path) -> Callable[[], Any]:
        return lambda: path.open("rb")

    return {split: [(str(path), opener(path)) for path in found] for split, found in find_parquet(origin).items()}


def _on_hub(origin: HubOrigin) -> dict[str, list[File]]:
    """The files at the commit that the revision is now, so that all are of one version."""
    from httpx2 import HTTPError  # all three here, because they take half a second and few corpora need them
    from huggingface_hub import HfApi, HfFileSystem
    from huggingface_hub.errors import HFValidationError

    def opener(path: str) -> Callable[[], Any]:
        return lambda: system.open(path, "rb")

    name, _, revision = origin.dataset.partition("@")
    if not revision:
        raise InputError(f"origin.dataset is {name!r}: write a revision behind it, such as {name}@main")
    try:
        commit, system = HfApi().dataset_info(name, revision=revision).sha, HfFileSystem()
        folder = f"datasets/{name}@{commit}/{origin.config}"
        paths = {split: sorted(system.glob(f"{folder}/{start}-*.parquet")) for split, start in SPLITS.items()}
    except (HTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"origin.dataset {origin.dataset}: the hub does not give it: {reason}") from None
    for split, found in paths.items():
        if not found:
            raise InputError(f"{origin.dataset}: no file {origin.config}/{SPLITS[split]}-*.parquet (origin.config)")
    return {split: [(path, opener(path)) for path in found] for split, found in paths.items()}


def _known_by(origin: HubOrigin, name: str) -> dict[str, str]:
    """On the hub the commit in the name says which version a file is; on this machine its hash, wherever it lies."""
    return {"file": Path(name).name, **digests(Path(name), ["sha256"])} if is_folder(origin) else {"file": name}


def _read(files: list[File], languages: Languages) -> Iterator[Pair]:
    return chain.from_iterable(_pairs(name, opener, languages) for name, opener in files)


def _pairs(name: str, opener: Callable[[], Any], languages: Languages) -> Iterator[Pair]:
    from httpx2 import HTTPError
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    codes = languages.source, languages.target
    try:
        with opener() as raw:
            file = ParquetFile(raw)
            columns = [f"translation.{code}" for code in codes]
            for column in columns:
                if column not in [file.schema.column(index).path for index in range(len(file.schema))]:
                    raise InputError(f"{name}: no text {column} in its rows; origin.config is another pair's?")
            for batch in file.iter_batches(ROWS, columns=columns):
                texts = batch.column("translation")
                yield from zip(*(texts.field(code).fill_null("").to_pylist() for code in codes), strict=True)
    except (ArrowException, HTTPError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {str(error).partition(chr(10))[0]}") from None
