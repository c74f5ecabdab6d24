"""Archives in the layouts of statmt.org, made here and served by a server on this machine."""

import gzip
import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.common.settings import Archive, Languages, read_params
from tasks.origins import archives, downloads, unpacking
from tasks.origins.archives import prepare
from tasks.origins.reader import read_origin
from tests.file_server import FileServer
from tests.packing import pack
from tests.workspace import ROOT
from transformer.io.errors import InputError
from transformer.io.files import read_json

EN_DE = Languages(source="en", target="de")
ENGLISH = "The house with the number {} is old and it is not for sale."
GERMAN = "Das Haus mit der Nummer {} ist alt und wird nicht verkauft."
FRENCH = "La maison avec le numéro {} est vieille et pas pour vous."
SENTENCES = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH}


def lines(language, count, start=0):
    return [SENTENCES[language].format(start + number) for number in range(count)]


def text(language, count, start=0):
    return "".join(line + "\n" for line in lines(language, count, start)).encode()


def sgm(sentences):
    """Documents of ten segments."""
    out = ['<srcset setid="made-up" srclang="any">']
    for number, sentence in enumerate(sentences):
        if number % 10 == 0:
            out += ["</doc>"] * bool(number) + [f'<doc docid="d{number}" genre="news" origlang="en">']
        out.append(f'<seg id="{number % 10 + 1}">{sentence}</seg>')
    return "\n".join([*out, "</doc>", "</srcset>", ""]).encode()


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(downloads, "PAUSES", (0,))
    with FileServer({}) as server:
        yield server


def serve(server, content, name="a.tgz", **changes):
    """Put an archive on the server; its settings."""
    server.files[name], server.tags[name] = content, f'"{hashlib.sha256(content).hexdigest()}"'
    settings = {
        "file": name,
        "urls": [server.url(name)],
        "bytes": len(content),
        "checksum": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "members": ["training/a.en", "training/a.de"],
    }
    return Archive(**(settings | changes))


GOOD = pack({"training/a.en": b"one\n", "training/other.fr": b"un\n", "training/a.de": b"eins\n"})


def test_the_wanted_files_are_unpacked_once(server):
    archive = serve(server, GOOD)
    files, sha256 = prepare(archive)
    assert [file.read_bytes() for file in files] == [b"one\n", b"eins\n"]
    assert sha256 == hashlib.sha256(GOOD).hexdigest()
    assert not list(Path("data").rglob("other.fr")) and not archives.NOTES.exists()
    Path("data/downloads/a.tgz").unlink()  # unpacked, it is not needed any more
    assert prepare(archive)[0] == files and len(server.asked) == 1


def test_an_archive_that_was_put_there_by_hand_is_taken(server):
    archive = serve(server, GOOD)
    Path("data/downloads").mkdir(parents=True)
    Path("data/downloads/a.tgz").write_bytes(GOOD)
    assert prepare(archive)[0][0].read_bytes() == b"one\n" and server.asked == []


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>not found</html>" + GOOD[22:], "its sha256 is [0-9a-f]+, not [0-9a-f]+; it looks like a web page"),
        (GOOD[:-1] + b"x", "its sha256 is [0-9a-f]+, not"),
        (GOOD[:100], r"100 bytes, not \d+"),
    ],
    ids=["a page", "another byte", "a part"],
)
def test_what_is_not_the_archive_is_not_kept(server, content, message):
    archive = serve(server, GOOD)
    server.files["a.tgz"] = content
    with pytest.raises(InputError, match=rf"{message}.*\. Add a mirror to its urls, or put the file at .*a\.tgz"):
        prepare(archive)
    assert [path.name for path in Path("data/downloads").iterdir()] == ["a.tgz.lock"]


@pytest.mark.fault("F08")
def test_a_page_that_lies_there_as_the_archive_is_not_taken(server):
    archive = serve(server, GOOD)
    Path("data/downloads").mkdir(parents=True)
    Path("data/downloads/a.tgz").write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match=r"data/downloads/a\.tgz: .*looks like a web page; delete it to fetch it anew"):
        prepare(archive)


@pytest.mark.fault("F08")
def test_a_first_download_is_noted_and_later_ones_are_held_to_it(server):
    archive = serve(server, GOOD, checksum="unknown", bytes="unknown")
    _, sha256 = prepare(archive)
    note = read_json(archives.NOTES / "a.tgz.json")
    assert note == {"from": server.url("a.tgz"), "bytes": len(GOOD), "sha256": sha256}
    assert Path("data/sources/archives") == archives.NOTES  # which git keeps
    server.files["a.tgz"] = pack({"training/a.en": b"two\n", "training/a.de": b"zwei\n"})
    with pytest.raises(InputError, match=f"its sha256 is [0-9a-f]+, not {sha256}"):
        prepare(archive, downloads=Path("elsewhere"))


@pytest.mark.fault("F08")
def test_where_only_an_md5_is_published_it_must_be_that(server):
    archive = serve(server, GOOD, checksum=f"md5:{hashlib.md5(GOOD).hexdigest()}", bytes="unknown")
    assert prepare(archive)[1] == read_json(archives.NOTES / "a.tgz.json")["sha256"]
    archive = serve(server, GOOD, name="b.tgz", checksum=f"md5:{'0' * 32}", bytes="unknown")
    with pytest.raises(InputError, match=f"its md5 is [0-9a-f]+, not {'0' * 32}"):
        prepare(archive)
    assert not (archives.NOTES / "b.tgz.json").exists()


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    "content",
    [b"no archive", GOOD[:-20], GOOD[:-8] + bytes(8), pack({"training/a.en": b"one\n"})],
    ids=["none", "cut off", "another sum", "without a file"],
)
def test_what_cannot_be_opened_or_lacks_a_file_is_not_noted(server, content):
    archive = serve(server, content, checksum="unknown", bytes="unknown")
    with pytest.raises(InputError, match=r"a\.tgz: (no archive that can be opened|damaged: .*|has no training/a\.de)"):
        prepare(archive)
    assert not archives.NOTES.exists()
    assert not Path("data/downloads/a.tgz").exists()


@pytest.mark.fault("F08")
def test_a_file_that_was_put_there_is_not_deleted_but_named(server):
    archive = serve(server, GOOD[:-20], checksum="unknown", bytes="unknown")
    path = Path("data/downloads/a.tgz")
    path.parent.mkdir(parents=True)
    path.write_bytes(GOOD[:-20])
    with pytest.raises(InputError, match=r"a\.tgz: damaged: .*; delete it to fetch it anew"):
        prepare(archive)
    assert path.exists()


@pytest.mark.parametrize("name", ["../a.en", "/a.en", "a/../b.en", "a/..", "", ".hidden", "a//b"])
def test_no_such_path_can_be_asked_for(name):
    with pytest.raises(ValueError, match="members"):
        Archive(file="a.tgz", urls=["http://a/b"], bytes="unknown", checksum="unknown", members=[name])


def test_a_full_disk_is_said_before_the_download(server, monkeypatch):
    archive = serve(server, GOOD)
    monkeypatch.setattr(unpacking.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(InputError, match=r"a\.tgz: needs 0\.0 GB, data/downloads has 0\.0 GB free; make room"):
        prepare(archive)
    assert server.asked == []


def statmt(server, corpus="wmt14-en-de", counts=None):
    """The origin of a corpus in params.yaml, its archives made up in the same layout and served here."""
    counts = {"newstest2013": 3000, "newstest2014": 3003, "newstest2014-2737": 2737} | (counts or {})
    origin = read_params(ROOT / "params.yaml").corpora[corpus].origin
    origin = origin.model_copy(
        update={
            "train": [_made(server, archive, 30, 100 * n) for n, archive in enumerate(origin.train)],
            "sets": {name: _made(server, archive, counts[name], 0) for name, archive in origin.sets.items()},
        }
    )
    server.asked.clear()
    return origin


def _made(server, archive, count, start):
    members = {}
    for name in archive.members:
        language = name.removesuffix(".gz").removesuffix(".sgm")[-2:]
        content = sgm(lines(language, count)) if ".sgm" in name else text(language, count, start)
        members[name] = gzip.compress(content) if name.endswith(".gz") else content
    mode = "w:gz" if archive.file.endswith(".tgz") else "w"
    return serve(server, pack(members, mode), archive.file, members=archive.members)


@pytest.mark.parametrize("corpus", ["wmt14-en-de", "wmt14-en-fr"])
def test_the_papers_corpora_are_read_in_the_order_of_their_archives(server, corpus):
    other = corpus[-2:]
    texts = read_origin(statmt(server, corpus), Languages(source="en", target=other), "newstest2014", 2000)
    train = list(texts.pairs["train"])
    starts = range(0, 100 * len(train) // 30, 100)
    assert train == [
        pair for start in starts for pair in zip(lines("en", 30, start), lines(other, 30, start), strict=True)
    ]
    assert len(starts) == {"de": 3, "fr": 5}[other]
    assert list(texts.pairs["valid"]) == list(zip(lines("en", 3000), lines(other, 3000), strict=True))
    assert len(list(texts.pairs["test"])) == 3003
    assert texts.sources[0]["file"].startswith("training-parallel-europarl-v7.tgz: training/europarl-v7")
    assert {source["split"] for source in texts.sources} == {"train", "valid", "test"}


@pytest.mark.fault("F07")
def test_the_name_of_the_test_set_decides_which_archive_is_fetched(server):
    texts = read_origin(statmt(server), EN_DE, "newstest2014-2737", 2000)
    assert len(list(texts.pairs["test"])) == 2737
    assert "wmt14-test-full.tgz" not in {name for name, _ in server.asked}


@pytest.mark.fault("F07")
@pytest.mark.parametrize("name", ["newstest2014", "newstest2014-2737"])
def test_another_number_of_pairs_than_the_name_promises_is_refused(server, name):
    texts = read_origin(statmt(server, counts={name: 2999}), EN_DE, name, 2000)
    with pytest.raises(InputError, match=rf"test_set is {name}, which has [23],\d+ pairs, but the text has 2,999"):
        list(texts.pairs["test"])


@pytest.mark.fault("F03")
def test_a_line_that_is_not_utf8_is_marked_in_training_and_refused_in_a_test_set(server):
    origin = statmt(server)
    wrong = pack({"training/europarl-v7.de-en.en": b"one\ntwo\n", "training/europarl-v7.de-en.de": b"eins\nzw\xf6i\n"})
    origin.train[0] = serve(server, wrong, "training-parallel-europarl-v7.tgz", members=origin.train[0].members)
    texts = read_origin(origin, EN_DE, "newstest2014", 2000)
    assert list(texts.pairs["train"])[1] == ("two", "zw\ufffdi")
    members = {name: sgm(["w\xf6"]).decode().encode("latin-1") for name in origin.sets["newstest2014"].members}
    origin.sets["newstest2014"] = serve(server, pack(members), "other.tgz", members=list(members))
    with pytest.raises(InputError, match=r"newstest2014-deen-src\.en\.sgm, line 3: not UTF-8"):
        read_origin(origin, EN_DE, "newstest2014", 2000)


def test_the_published_sums_of_the_test_sets_are_those_of_sacrebleu():
    from sacrebleu.dataset import DATASETS

    known = {"newstest2013": "wmt13", "newstest2014": "wmt14/full", "newstest2014-2737": "wmt14"}
    for corpus, direction in (("wmt14-en-de", "en-de"), ("wmt14-en-fr", "en-fr")):
        for name, archive in read_params(ROOT / "params.yaml").corpora[corpus].origin.sets.items():
            theirs = DATASETS[known[name]]
            assert archive.checksum == f"md5:{theirs.md5[0]}" and theirs.data[0] in archive.urls
            assert archive.members == theirs.langpairs[direction]


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no wmt14: REPRO_DATA is not set")
@pytest.mark.fault("F07")
def test_the_real_test_sets_are_told_apart_and_not_turned_round(server):
    folder = Path(os.environ["REPRO_DATA"]) / "wmt14"
    full = {code: (folder / f"newstest2014.en-de.{code}").read_text("utf-8").split("\n")[:-1] for code in ("en", "de")}
    chosen = [int(line) - 1 for line in (folder / "newstest2014-2737.en-de.lines").read_text().split()]
    origin = statmt(server)
    for name, numbers in {"newstest2014": range(3003), "newstest2014-2737": chosen}.items():
        members = origin.sets[name].members
        sides = [sgm([_escaped(full[code][number]) for number in numbers]) for code in ("en", "de")]
        packed = pack(dict(zip(members, sides, strict=True)))
        origin.sets[name] = serve(server, packed, origin.sets[name].file, members=members)
        pairs = list(read_origin(origin, EN_DE, name, 2000).pairs["test"])
        assert pairs == [(full["en"][number].strip(" "), full["de"][number].strip(" ")) for number in numbers]
        with pytest.raises(InputError, match="the sides are in each other's place"):
            read_origin(origin, Languages(source="de", target="en"), name, 2000)


def _escaped(sentence):
    return sentence.replace("&", "&amp;").replace("<", "&lt;")
