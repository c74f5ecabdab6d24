"""A folder in the layout of the hub's wmt14, made here, and a stand-in for the hub itself that serves it.

Nothing is fetched: HF_HUB_OFFLINE is set for all tests.
"""

import gc
import json
import os
import re
import subprocess
import sys

import psutil
import pyarrow
import pyarrow.parquet
import pytest

from tasks.common.settings import HubOrigin, Languages
from tasks.origins.hub import read_hub
from tasks.origins.reader import read_origin
from tests.hub_server import COMMIT, HubServer
from tests.workspace import ROOT, environment
from transformer.io.errors import InputError
from transformer.io.files import sha256

EN_DE = Languages(source="en", target="de")


def rows(count, start=0, padding=""):
    return [
        {"de": f"Das ist der Ort mit der Nummer {n}.{padding}", "en": f"This is the place of number {n}.{padding}"}
        for n in range(start, start + count)
    ]


def write(path, translations, group=1000):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.table(
        {"translation": translations if isinstance(translations, pyarrow.Array) else pyarrow.array(translations)}
    )
    pyarrow.parquet.write_table(table, path, row_group_size=group)


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        write(tmp_path / "de-en" / f"train-{number:05d}-of-00003.parquet", rows(50, 50 * number), group=20)
    write(tmp_path / "de-en" / "validation-00000-of-00001.parquet", rows(3000))
    write(tmp_path / "de-en" / "test-00000-of-00001.parquet", rows(3003))
    return tmp_path


def origin(folder, config="de-en"):
    return HubOrigin(kind="hub", dataset=str(folder), config=config, terms="made up", valid="newstest2013")


def test_texts_are_taken_by_language_file_after_file(folder):
    texts = read_origin(origin(folder), EN_DE, "newstest2014", 2000)
    assert list(texts.pairs["train"]) == [(row["en"], row["de"]) for row in rows(150)]
    assert [len(list(texts.pairs[split])) for split in ("valid", "test")] == [3000, 3003]
    first = folder / "de-en" / "train-00000-of-00003.parquet"
    assert texts.sources[0] == {"split": "train", "file": first.name, "licence": "made up", "sha256": sha256(first)}
    turned = read_origin(origin(folder), Languages(source="de", target="en"), "newstest2014", 2000)
    assert next(iter(turned.pairs["train"])) == (rows(1)[0]["de"], rows(1)[0]["en"])


@pytest.mark.fault("F07")
def test_the_hubs_newstest2014_is_not_the_one_of_2737(folder):
    texts = read_origin(origin(folder), EN_DE, "newstest2014-2737", 2000)
    with pytest.raises(InputError, match=r"newstest2014-2737, which has 2,737 pairs, but the text has 3,003"):
        list(texts.pairs["test"])


@pytest.mark.fault("F07")
def test_columns_under_each_others_name_are_refused(folder):
    swapped = [{"de": row["en"], "en": row["de"]} for row in rows(100)]
    write(folder / "de-en" / "validation-00000-of-00001.parquet", swapped)
    with pytest.raises(InputError, match="de-en, valid: the sides are in each other's place"):
        read_hub(origin(folder), EN_DE)


def test_a_text_that_is_missing_is_empty(folder):
    gaps = [{"de": None, "en": "one"}, None, {"de": "zwei", "en": "two"}]
    write(folder / "de-en" / "train-00000-of-00003.parquet", gaps)
    pairs = iter(read_hub(origin(folder), EN_DE).pairs["train"])
    assert [next(pairs) for _ in gaps] == [("one", ""), ("", ""), ("two", "zwei")]


def test_the_libraries_own_type_of_translations_is_read(folder):
    """Files that `datasets` has written name it, for all versions of the library."""
    kind = {"translation": {"languages": ["de", "en"], "_type": "Translation"}}
    for path in (folder / "de-en").iterdir():
        told = {"huggingface": json.dumps({"info": {"features": kind}})}
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).replace_schema_metadata(told), path)
    texts = read_hub(origin(folder), EN_DE)
    assert [len(list(texts.pairs[split])) for split in ("train", "valid", "test")] == [150, 3000, 3003]
    with pytest.raises(InputError, match=r"no text translation\.fr"):
        list(read_hub(origin(folder), Languages(source="en", target="fr")).pairs["test"])


TEST = "de-en/test-00000-of-00001.parquet"
GERMAN, ENGLISH = pyarrow.array([b"f\xfcnf"]).view(pyarrow.string()), pyarrow.array(["five"])
NOT_UTF8 = pyarrow.StructArray.from_arrays([GERMAN, ENGLISH], ["de", "en"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / TEST).unlink(), r"de-en: no file test-\*\.parquet"),
        (lambda folder: write(folder / TEST, [{"cs": "a", "en": "b"}]), r"test-.*parquet: no text translation\.de"),
        (lambda folder: (folder / TEST).write_bytes(b"<html>"), r"test-.*parquet: cannot be read: .*footer"),
        (lambda folder: write(folder / TEST, NOT_UTF8), r"test-.*parquet: cannot be read: .*utf-8"),
    ],
    ids=["no file", "another language", "a page", "not UTF-8"],
)
def test_what_cannot_be_read_is_named(folder, change, message):
    change(folder)
    with pytest.raises(InputError, match=message) as caught:
        list(read_hub(origin(folder), EN_DE).pairs["test"])
    assert "\n" not in str(caught.value)


def test_the_folder_may_name_a_variable(folder, monkeypatch):
    monkeypatch.setenv("OUR_HUB", str(folder))
    assert next(iter(read_hub(origin("$OUR_HUB"), EN_DE).pairs["train"]))[0].startswith("This is")
    monkeypatch.delenv("OUR_HUB")
    with pytest.raises(InputError, match=r"origin\.dataset is .*OUR_HUB is not set"):
        read_hub(origin("$OUR_HUB"), EN_DE)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("wmt/wmt14", r"write a revision behind it, such as wmt/wmt14@main"),
        ("wmt/wmt14@main", "offline mode is enabled"),
    ],
)
def test_the_hub_out_of_reach_is_one_line(dataset, message):
    with pytest.raises(InputError, match=message) as caught:
        read_hub(origin(dataset), EN_DE)
    assert "\n" not in str(caught.value)


FROM_HUB = """
from tasks.origins.hub import read_hub
from tasks.common.settings import HubOrigin, Languages
origin = HubOrigin(kind="hub", dataset="wmt/wmt14@main", config=CONFIG, terms="made up", valid="newstest2013")
texts = read_hub(origin, Languages(source="en", target="de"))
print(texts.sources[0]["file"], *(len(list(texts.pairs[split])) for split in ("train", "valid", "test")))
"""


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ("de-en", f"hf://datasets/wmt/wmt14@{COMMIT}/de-en/train-00000-of-00003.parquet 150 3000 3003\n"),
        ("cs-en", "origin.dataset wmt/wmt14@main: the hub does not give it: .*404"),
    ],
)
def test_the_hub_gives_all_splits_of_one_commit(folder, config, answer):
    with HubServer("wmt/wmt14", folder) as hub:  # in a process of its own: the hub's address is read once
        run = subprocess.run(
            [sys.executable, "-c", FROM_HUB.replace("CONFIG", repr(config))],
            env=environment(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0", HF_HUB_DISABLE_TELEMETRY="1"),
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert run.stdout == answer or re.search(answer, run.stderr), run.stderr


def readers():
    """The processes that read files now, but for the server that makes them."""
    return [process for process in psutil.Process().children(recursive=True) if process.parent().pid != os.getpid()]


def test_memory_does_not_grow_with_the_number_of_files(folder):
    for number in range(8):
        write(folder / "de-en" / f"train-{number:05d}-of-00008.parquet", rows(20_000, padding=" and on" * 60))
    (folder / "de-en" / "train-00000-of-00003.parquet").unlink()
    one_file, most = 20_000 * 2 * 450, []
    for count, _ in enumerate(read_hub(origin(folder), EN_DE).pairs["train"], 1):
        if count % 1000 == 0 and count < 160_000:  # at which the process may have ended
            most.append(max(process.memory_info().rss for process in readers()))
    assert count == 160_100
    assert max(most) - max(most[:20]) < 4 * one_file


def test_a_stream_that_is_broken_off_leaves_no_process(folder):
    pairs = read_hub(origin(folder), EN_DE).pairs["valid"]
    next(iter(pairs))
    assert readers()
    del pairs
    gc.collect()
    assert not readers()


def test_a_reader_that_was_killed_is_no_end_of_the_text(folder):
    write(folder / "de-en" / "test-00000-of-00001.parquet", rows(40_000, padding=" and on" * 60))
    pairs = iter(read_hub(origin(folder), EN_DE).pairs["test"])
    next(pairs)
    for process in readers():
        process.kill()
    with pytest.raises(InputError, match=r"the process that read .*test-00000-of-00001\.parquet \.\.\. was killed"):
        list(pairs)
