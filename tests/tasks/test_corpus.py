import gzip
import json
import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.common.settings import Cleaning, FilesOrigin, Languages
from tasks.corpus import write_corpus
from transformer.io.errors import InputError
from transformer.io.files import sha256
from transformer.text.preparation import normalise

PROJECT = Path(__file__).parents[2]
GOOD = [("The door is open.", "Die Tür ist offen."), ("It is late.", "Es ist spät."), ("We sing.", "Wir singen.")]


def corpus(folder, train=GOOD, valid=GOOD, test=GOOD, name="ours", processes=1, drop=(), **cleaning):
    """Write the splits as .tsv, make the corpus of them, return its folder."""
    folder.mkdir(exist_ok=True)
    for split, pairs in {"train": train, "valid": valid, "test": test}.items():
        (folder / f"{split}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8", newline="\n")
    settings = SimpleNamespace(
        languages=Languages(source="en", target="de"),
        test_set="ours",
        origin=FilesOrigin(
            kind="files", folder=str(folder), train=["train.tsv"], valid=["valid.tsv"], test=["test.tsv"]
        ),
        cleaning=Cleaning(**{"max_characters": 40, "max_words": None, "max_ratio": None, **cleaning}, drop=list(drop)),
    )
    write_corpus(name, settings, folder / "corpora" / name, processes)
    return folder / "corpora" / name


def pairs(folder, split):
    sides = [(folder / f"{split}.{code}").read_text(encoding="utf-8").split("\n") for code in ("en", "de")]
    assert [side.pop() for side in sides] == ["", ""]
    return list(zip(*sides, strict=True))


def facts(folder):
    return json.loads((folder / "corpus.json").read_text(encoding="utf-8"))


def test_good_text_goes_through_unchanged(tmp_path):
    made = corpus(tmp_path)
    assert [pairs(made, split) for split in ("train", "valid", "test")] == [GOOD] * 3
    assert facts(made)["pairs"] == {"train": 3, "valid": 3, "test": 3}


def test_the_description_has_the_hash_of_each_file_and_source(tmp_path):
    made = corpus(tmp_path)
    hashes = facts(made)["sha256"]
    assert sorted(hashes) == ["test.de", "test.en", "train.de", "train.en", "valid.de", "valid.en"]
    assert all(sha256(made / name) == hashed for name, hashed in hashes.items())
    assert facts(made)["sources"][0] == {
        "split": "train",
        "file": "train.tsv",
        "sha256": sha256(tmp_path / "train.tsv"),
    }


@pytest.mark.fault("F02")
@pytest.mark.fault("F03")
@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "Leer."), "empty"),
        (("Blank.", " \u00a0\u200b"), "empty"),
        (("Nul\x00l.", "Null."), "damaged characters"),
        (("Wrongly decoded.", "Falsch dekodiert \x96 so."), "damaged characters"),
        (("Lost.", "Verl\ufffdren."), "damaged characters"),
        (("Long.", "Lang " * 10), "too long"),
    ],
)
def test_a_bad_pair_is_dropped_on_both_sides_and_counted(tmp_path, pair, reason):
    made = corpus(tmp_path, train=[GOOD[0], pair, GOOD[1]], valid=[pair, *GOOD])
    assert pairs(made, "train") == GOOD[:2]
    assert pairs(made, "valid") == GOOD
    assert facts(made)["dropped"]["train"] == facts(made)["dropped"]["valid"] == {reason: 1}
    assert f"1 {reason}" in (made / "README.md").read_text(encoding="utf-8")


@pytest.mark.fault("F02")
def test_lines_of_the_test_are_never_dropped_or_changed(tmp_path):
    test = [
        ("", "Leer."),
        (" two  spaces\u00a0", "x" * 99),
        ("&quot;Go&quot;", "u\u0308ber\u2028\x85"),
        ("soft\u00adly", ""),
    ]
    made = corpus(tmp_path, test=test)
    sides = [(made / f"test.{code}").read_bytes().decode().split("\n")[:-1] for code in ("en", "de")]
    assert list(zip(*sides, strict=True)) == test
    assert facts(made)["test"] == {"escaped": 1, "empty": 2}


@pytest.mark.fault("F01")
@pytest.mark.fault("F04")
def test_training_text_follows_the_rule_of_translation(tmp_path):
    made = corpus(tmp_path, train=[("\ufeffThe  soft\u00adly\u00a0spoken ", "U\u0308ber\u3000all"), GOOD[0]])
    assert pairs(made, "train")[0] == ("The softly spoken", "Über all")


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\r", "\x85", "\u2028", "\u2800"])
def test_what_is_white_space_in_translation_is_so_in_training(tmp_path, space):
    odd = (f"The door{space}is open.", f"Die Tür{space} ist offen.{space}")
    made = corpus(tmp_path, train=[odd, GOOD[1]], valid=[odd], test=[odd])
    assert pairs(made, "train") == GOOD[:2]
    assert pairs(made, "valid") == GOOD[:1] == [tuple(map(normalise, odd))]
    assert (made / "test.de").read_bytes() == f"{odd[1].removesuffix(chr(13))}\n".encode()


@pytest.mark.fault("F05")
def test_moses_escapes_are_undone_and_counted(tmp_path):
    made = corpus(tmp_path, train=[("It &apos;s &#91; R &amp; D &#93;", "&quot;Das&quot; &copy;"), GOOD[0]])
    assert pairs(made, "train")[0] == ("It 's [ R & D ]", '"Das" &copy;')
    assert facts(made)["changed"] == {"train": {"escapes undone": 1}, "valid": {}}


def test_training_lines_that_are_tested_are_counted_and_kept_unless_told_otherwise(tmp_path):
    held_out = {"valid": [("Two.", "Zwei.")], "test": [*GOOD[:2], ("Old.", " Neu. ")]}
    made = corpus(tmp_path, train=[*GOOD, ("New.", "Neu."), ("Two.", "Zwo.")], **held_out)
    found = {"sources in test": 2, "sources in valid": 1, "targets in test": 3}
    assert facts(made)["overlap"] == found
    assert facts(made)["pairs"]["train"] == 5
    made = corpus(tmp_path, train=[*GOOD, ("New.", "Neu."), ("Two.", "Zwo.")], **held_out, drop=["overlap"])
    assert pairs(made, "train") == GOOD[2:]
    assert facts(made)["overlap"] == found
    assert facts(made)["dropped"]["train"] == {"also in valid or test": 4}


def test_of_repeated_pairs_the_first_stays(tmp_path):
    other = (GOOD[0][0], "Die Türe ist offen.")
    made = corpus(tmp_path, train=[*GOOD, other, (" It is  late. ", GOOD[1][1]), GOOD[0]], drop=["duplicate"])
    assert pairs(made, "train") == [*GOOD, other]
    assert facts(made)["dropped"]["train"] == {"repeated": 2}
    assert facts(made)["words"]["train"] == {"source": 4 + 3 + 2 + 4, "target": 4 + 3 + 2 + 4}


def test_rules_of_training_leave_valid_whole(tmp_path):
    valid = [("Yes.", "Yes."), ("Yes.", "Yes."), ("One two three four five.", "Eins.")]
    drop = ["identical", "duplicate", "other script", "other language", "overlap"]
    made = corpus(tmp_path, valid=valid, test=valid[:1], drop=drop, max_words=4, max_ratio=2.0)
    assert pairs(made, "valid") == valid


def test_files_are_the_same_with_any_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.corpus._CHUNK", 7)
    numbered = [(f"Room {n % 50}\u00a0is  free.", f"Zimmer {n % 50} ist frei &amp; leer.") for n in range(99)]
    some = [*numbered[:40], ("", "Leer."), ("Nul\x00l.", "Null."), *numbered[40:]]
    contents = []
    for count in (1, 2):
        (tmp_path / str(count)).mkdir()
        one = corpus(tmp_path / str(count), train=some, processes=count, drop=["duplicate"])
        contents.append({path.name: path.read_bytes() for path in one.iterdir()})
    assert contents[0] == contents[1]
    assert facts(one)["pairs"]["train"] == 50


def test_an_error_in_the_text_ends_the_processes_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.corpus._CHUNK", 1)
    with pytest.raises(InputError, match=r"train\.tsv, line 10: 3 column"):
        corpus(tmp_path, train=[*GOOD * 3, ("a", "b\tc")], processes=2)
    assert not multiprocessing.active_children()
    assert list((tmp_path / "corpora").iterdir()) == []


def test_nothing_left_says_why(tmp_path):
    with pytest.raises(InputError, match="nothing of valid is left after cleaning: 2 empty"):
        corpus(tmp_path, valid=[("", "a"), ("b", "")])
    assert not (tmp_path / "corpora" / "ours").exists()


def test_an_error_half_way_leaves_the_old_corpus(tmp_path):
    made = corpus(tmp_path)
    before = facts(made)
    with pytest.raises(InputError, match=r"train\.tsv, line 2: 3 column"):
        corpus(tmp_path, train=[GOOD[0], ("a", "b\tc")])
    assert facts(made) == before
    assert [path.name for path in made.parent.iterdir()] == ["ours"]


# Prints the most memory that this process has had while it wrote a corpus, in bytes.
MEMORY = """
import sys
from pathlib import Path
from types import SimpleNamespace
from tasks import corpus
from tasks.common.settings import Cleaning, FilesOrigin, Languages
files = {split: [f"{split}.tsv"] for split in ("train", "valid", "test")}
settings = SimpleNamespace(
    languages=Languages(source="en", target="de"), test_set="ours",
    origin=FilesOrigin(kind="files", folder=sys.argv[1], **files),
    cleaning=Cleaning(max_characters=1000, max_words=None, max_ratio=None, drop=["overlap", "duplicate"]),
)
corpus.write_page = lambda *_: None  # its picture takes more than the text, and would hide what that takes
corpus.write_corpus("ours", settings, Path(sys.argv[1]) / "out", processes=1)
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="this machine has no /proc, which says how much memory was held at most",
)
def test_memory_grows_by_the_hashes_of_the_pairs_only(tmp_path):
    few, many = 40_000, 240_000
    peaks = []
    for count in (few, many):
        folder = tmp_path / str(count)
        folder.mkdir()
        for split, lines in (("train", range(count)), ("valid", (-1, -2)), ("test", (-3, -4))):
            text = "".join(f"This is the place of number {n}.\tDas ist der Ort mit der Nummer {n}.\n" for n in lines)
            (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, "-c", MEMORY, str(folder)],
            env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert facts(folder / "out")["pairs"]["train"] == count
        peaks.append(int(run.stdout))
    # 8 bytes a pair, three times while two runs of them are merged, and what an allocator keeps. Text takes 200 a pair.
    assert peaks[1] - peaks[0] < 3 * 8 * (many - few) + 8e6, peaks


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("multi30k", r"corpus multi30k: origin.folder is .*, but the environment variable REPRO_DATA is not set"),
        ("multi3k", r"params.yaml: no corpus 'multi3k'; did you mean 'multi30k'\?"),
    ],
)
def test_the_command_ends_with_one_line(tmp_path, name, line):
    (tmp_path / "params.yaml").write_bytes((PROJECT / "params.yaml").read_bytes())
    command, place = [sys.executable, "-m", "tasks.corpus", name], {"PYTHONPATH": str(PROJECT)}
    run = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert re.fullmatch(f"error: {line}\n", run.stderr)
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no multi30k: REPRO_DATA is not set")
def test_multi30k_keeps_all_its_pairs(tmp_path):
    folder = Path(os.environ["REPRO_DATA"]) / "multi30k"
    settings = SimpleNamespace(
        languages=Languages(source="en", target="de"),
        test_set="multi30k test2016",
        origin=FilesOrigin(
            kind="files",
            folder="$REPRO_DATA/multi30k",
            train=["train.en.gz", "train.de.gz"],
            valid=["val.en.gz", "val.de.gz"],
            test=["test_2016_flickr.en.gz", "test_2016_flickr.de.gz"],
        ),
        cleaning=Cleaning(max_characters=1000, max_words=None, max_ratio=None, drop=[]),
    )
    write_corpus("multi30k", settings, tmp_path / "multi30k")
    assert facts(tmp_path / "multi30k")["pairs"] == {"train": 29000, "valid": 1014, "test": 1000}
    assert (tmp_path / "multi30k" / "test.de").read_bytes() == gzip.decompress(
        (folder / "test_2016_flickr.de.gz").read_bytes()
    )
