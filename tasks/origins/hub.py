"""Text from a data set of the Hugging Face hub, or from a folder in its layout, streamed by the library `datasets`.

    wmt/wmt14@main   or   FOLDER
        de-en/train-00000-of-00003.parquet ... validation-00000-of-00001.parquet test-00000-of-00001.parquet

Each row has a struct `translation` with one text for each language. Arrow reads ahead of who uses the text by up to a
file, or 1 GiB of text where a file has more; beyond that, memory does not grow with the data set.

The library runs in a process of its own, which ends without Python's own end: with datasets 5.2.0 and pyarrow 25.0.1 a
thread of Arrow may hold a file a little longer than the stream, and a process that ends meanwhile can abort with exit
code 134 (apache/arrow#45214, huggingface/datasets#7566). So did 1 of 29 that had broken off a stream, closed it and
collected what was left.
"""

import glob
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tasks.common.settings import HubOrigin, Languages
from tasks.origins.files import expand
from tasks.origins.hashes import digests
from tasks.origins.swapped_sides import check_direction
from tasks.origins.texts import Pair, Texts
from transformer.io.errors import InputError
from transformer.io.progress import waiting

SPLITS = {"train": "train", "valid": "validation", "test": "test"}
ROWS = 1000  # at once
PROCESSES = get_context("forkserver")  # not "fork", which would copy the locks of this process's threads
PROCESSES.set_forkserver_preload(["datasets", __name__])  # once for all splits
SECONDS_TO_END = 5.0


def read_hub(origin: HubOrigin, languages: Languages) -> Texts:
    """The pairs of all splits; InputError if the hub or the folder does not have them."""
    files = _in_folder(origin) if is_folder(origin) else _on_hub(origin)
    pairs = {
        split: check_direction(_pairs(found, languages), languages, f"{origin.config}, {split}")
        for split, found in files.items()
    }
    sources = [
        {"split": split, "licence": origin.terms, **_known_by(origin, name)}
        for split, found in files.items()
        for name in found
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


def _in_folder(origin: HubOrigin) -> dict[str, list[str]]:
    return {split: [str(path) for path in found] for split, found in find_parquet(origin).items()}


def _on_hub(origin: HubOrigin) -> dict[str, list[str]]:
    """The files at the commit that the revision is now, so that all are of one version."""
    from httpx2 import HTTPError  # all three here, because they take half a second and few corpora need them
    from huggingface_hub import HfApi, HfFileSystem
    from huggingface_hub.errors import HFValidationError

    name, _, revision = origin.dataset.partition("@")
    if not revision:
        raise InputError(f"origin.dataset is {name!r}: write a revision behind it, such as {name}@main")
    try:
        with waiting(f"origin.dataset {origin.dataset}: waiting for the hub"):
            commit, system = HfApi().dataset_info(name, revision=revision).sha, HfFileSystem()
            folder = f"hf://datasets/{name}@{commit}/{origin.config}"
            paths = {
                split: [f"hf://{path}" for path in sorted(system.glob(f"{folder}/{start}-*.parquet"))]
                for split, start in SPLITS.items()
            }
    except (HTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"origin.dataset {origin.dataset}: the hub does not give it: {reason}") from None
    for split, found in paths.items():
        if not found:
            raise InputError(f"{origin.dataset}: no file {origin.config}/{SPLITS[split]}-*.parquet (origin.config)")
    return paths


def _known_by(origin: HubOrigin, name: str) -> dict[str, str]:
    """On the hub the commit in the name says which version a file is; on this machine its hash, wherever it lies."""
    return {"file": Path(name).name, **digests(Path(name), ["sha256"])} if is_folder(origin) else {"file": name}


def _pairs(files: list[str], languages: Languages) -> Iterator[Pair]:
    """The pairs of a split's files, which another process reads."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    codes = languages.source, languages.target
    process = PROCESSES.Process(target=_send, args=(files, codes, sender), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C is for this process alone
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    sender.close()
    try:
        while True:
            with waiting(f"{files[0]} ...: waiting for the process that reads it"):
                received = receiver.recv()
            if received is None:
                return
            if isinstance(received, InputError):
                raise received
            yield from received
    except (EOFError, OSError):
        process.join(SECONDS_TO_END)
        if process.exitcode is not None and process.exitcode < 0:
            raise InputError(f"the process that read {files[0]} ... was killed: did memory run out?") from None
        raise RuntimeError(f"the process that read {files[0]} ... ended with exit code {process.exitcode}") from None
    finally:
        receiver.close()  # ends it, if it still sends
        process.join(SECONDS_TO_END)
        process.kill()
        process.join()


def _send(files: list[str], codes: tuple[str, str], sender: Connection) -> None:
    """Send the pairs, in lists, then None; or an InputError. A process of the fork server ends by os._exit."""
    with suppress(BrokenPipeError):  # nobody receives any more
        try:
            for file in files:
                for pairs in _read(file, codes):
                    sender.send(pairs)
            sender.send(None)
        except InputError as error:
            sender.send(error)


def _read(file: str, codes: tuple[str, str]) -> Iterator[list[Pair]]:
    import datasets
    from httpx2 import HTTPError
    from pyarrow import ArrowException

    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # it would tell a server of files on this machine
    datasets.config.TORCH_AVAILABLE = False  # it would load it, to no end
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs the errors that it raises
    address = file if file.startswith("hf://") else glob.escape(file)
    try:
        with tempfile.TemporaryDirectory() as cache:  # where the library puts a lock file
            stream = datasets.load_dataset(
                "parquet", data_files=address, split="train", streaming=True, columns=["translation"], batch_size=ROWS,
                cache_dir=cache,
            )  # fmt: skip
        names = stream.features.flatten() if stream.features else {}
        for code in codes:
            if f"translation.{code}" not in names:
                raise InputError(f"{file}: no text translation.{code} in its rows; origin.config is another pair's?")
        for table in stream.with_format("arrow").iter(ROWS):
            columns = [table.flatten().column(f"translation.{code}").to_pylist() for code in codes]
            yield [(source or "", target or "") for source, target in zip(*columns, strict=True)]
    except (ArrowException, HTTPError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read: {str(error).partition(chr(10))[0]}") from None
