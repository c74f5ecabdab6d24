"""Wheels through pip itself, on a wheel made here."""

import json
import sys
import zipfile

import polib
import pytest

from tasks.common.settings import Languages, Wheel, WheelsOrigin
from tasks.origins.wheels import fetch as wheels
from tasks.origins.wheels.reader import near_twin_key, read_wheels
from transformer.io.errors import InputError
from transformer.io.files import sha256

VERBS = {"Open": "Öffne", "Close": "Schließe", "Lock": "Sperre", "Paint": "Streiche", "Repair": "Repariere"}
NOUNS = {"door": "die Tür", "window": "das Fenster", "garage": "die Garage", "gate": "das Tor"}
PHRASES = {f"{verb} the {noun}": f"{VERBS[verb]} {NOUNS[noun]}" for verb in VERBS for noun in NOUNS}


def gettext(path_ending):
    """A catalog of every kind of entry, as the bytes of a .po or .mo file."""
    catalog = polib.POFile()
    catalog.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    entry = polib.POEntry
    catalog += [
        entry(msgid="Find %(what)s", msgstr="Suche %(what)s"),
        entry(msgid="One key", msgid_plural="%d keys", msgstr_plural={0: "Ein Schlüssel", 1: "%d Schlüssel"}),
        entry(msgid="Fuzzy thing", msgstr="Unklare Sache", flags=["fuzzy"]),
        entry(msgid="Old thing", msgstr="Alte Sache", obsolete=True),
        entry(msgid="Nobody translated this", msgstr=""),
        entry(msgid="E-mail server", msgstr="E-mail server"),
        entry(msgid="Key", msgstr="Schlüssel"),
    ]
    return str(catalog).encode() if path_ending == "po" else catalog.to_binary()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A folder with one wheel, which stands for the package index."""
    folder = tmp_path_factory.mktemp("index")
    english = {
        "buttons": {key.lower(): key for key in PHRASES},
        "twin": "Open the door {n}!",
        "only_english": "Hello there",
        "half": "Feed the \ud83d dog",
    }
    german = {"buttons": {key.lower(): PHRASES[key] for key in PHRASES}, "twin": "Öffne die Tür {n}!"}
    german["half"] = "Füttere den Hund"
    files = {
        "demo/translations/en.json": json.dumps(english),
        "demo/translations/de.json": json.dumps(german),
        "demo/translations/sensor.en.json": json.dumps({"again": "Open the door", "dry": "It is dry"}),
        "demo/translations/sensor.de.json": json.dumps({"again": "Tür auf", "dry": "Es ist trocken"}),
        "demo/locale/de_DE/LC_MESSAGES/demo.po": gettext("po"),
        "demo/locale/de_DE/LC_MESSAGES/demo.mo": b"not read, since the .po says more",
        "demo/locale/de_CH/LC_MESSAGES/demo.po": b"not read, since it is another country's",
        "other/locale/de/LC_MESSAGES/other.mo": gettext("mo"),
        "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
        "demo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "demo-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(folder / "demo-1.0-py3-none-any.whl", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return folder


@pytest.fixture
def local_index(index, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return index


def demo(index, **changes):
    hashed = sha256(next(index.glob("*.whl")))
    return Wheel(**{"name": "demo", "version": "1.0", "python": "3.14", "sha256": hashed, "licence": "MIT"} | changes)


def read(index, valid=3, test=4, **changes):
    origin = WheelsOrigin(kind="wheels", wheels=[demo(index, **changes)], valid=valid, test=test)
    texts = read_wheels(origin, Languages(source="en", target="de"), 100)
    return texts, {split: list(pairs) for split, pairs in texts.pairs.items()}


def test_catalogs_of_both_kinds_are_read(local_index):
    texts, splits = read(local_index)
    pairs = {pair for split in splits.values() for pair in split}
    assert PHRASES.items() - {("Open the door", "Öffne die Tür")} <= pairs
    assert {("Find {1}", "Suche {1}"), ("One key", "Ein Schlüssel"), ("{1} keys", "{1} Schlüssel")} <= pairs
    assert ("It is dry", "Es ist trocken") in pairs
    assert not {source for source, _ in pairs} & {"Fuzzy thing", "Old thing", "Hello there", "E-mail server"}
    assert texts.sources == [{"file": "demo 1.0", "sha256": demo(local_index).sha256, "licence": "MIT"}]


def test_what_is_left_out_is_counted_by_reason(local_index):
    dropped = read(local_index)[0].dropped
    assert dropped["fuzzy"] == 1
    assert dropped["not translated"] == 1
    assert dropped["both sides the same"] == 1
    assert dropped["damaged characters"] == 1
    assert dropped["another translation of the same source"] == 1
    assert dropped["repeated"] == 5  # what the .mo repeats of the .po


def test_no_near_twin_is_on_both_sides_of_a_split(local_index):
    _, splits = read(local_index)
    keys = {split: {near_twin_key(source) for source, _ in pairs} for split, pairs in splits.items()}
    assert len(splits["test"]) == len(keys["test"]) == 4
    assert len(splits["valid"]) == len(keys["valid"]) == 3
    assert not keys["train"] & keys["test"] and not keys["train"] & keys["valid"] and not keys["valid"] & keys["test"]
    assert ("Key", "Schlüssel") in splits["train"]


def test_the_split_depends_on_the_sources_alone(local_index):
    held_out = {source for _, splits in [read(local_index, valid=3)] for source, _ in splits["test"]}
    assert held_out == {source for _, splits in [read(local_index, valid=9)] for source, _ in splits["test"]}


@pytest.mark.parametrize("twin", ["open the DOOR", "Open the door {1}!", "“Open” — the door 2", "Open  the\tdoor."])
def test_near_twins_have_one_key(twin):
    assert near_twin_key(twin) == near_twin_key("Open the door")


def test_too_many_held_out_pairs_are_refused(local_index):
    with pytest.raises(InputError, match=r"ask for 3 \+ 40 pairs, but the catalogs have 2\d"):
        read(local_index, test=40)


@pytest.mark.fault("F08")
def test_another_hash_names_the_wheel_and_leaves_nothing(local_index):
    with pytest.raises(InputError, match=r"demo 1\.0: .* sha256 [0-9a-f]{64}, not 0{64}"):
        read(local_index, sha256="0" * 64)
    assert not list(wheels.DOWNLOADS.glob("*.whl"))


def test_a_wheel_that_is_there_is_not_fetched_again(local_index, monkeypatch):
    path = wheels.fetch_wheel(demo(local_index))
    before = path.stat().st_mtime_ns
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert wheels.fetch_wheel(demo(local_index)) == path
    assert path.stat().st_mtime_ns == before


@pytest.mark.fault("F08")
def test_a_damaged_download_is_fetched_again(local_index):
    path = wheels.fetch_wheel(demo(local_index))
    path.write_bytes(b"<html>not found</html>")
    assert sha256(wheels.fetch_wheel(demo(local_index))) == demo(local_index).sha256


def test_an_unknown_version_and_an_unreachable_index_are_told_apart(local_index, monkeypatch):
    with pytest.raises(InputError, match=r"demo 1\.1: pip finds no wheel"):
        read(local_index, version="1.1")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    with pytest.raises(InputError, match="the package index cannot be reached"):
        read(local_index, version="1.1")
