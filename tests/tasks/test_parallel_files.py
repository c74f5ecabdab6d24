import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from tasks.parallel_files import find_files, read_files, read_pairs
from tasks.settings import FilesOrigin, Languages
from transformer.errors import InputError


def two(folder, source, target, ending=""):
    paths = [folder / f"text.en{ending}", folder / f"text.de{ending}"]
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(gzip.compress(data) if ending else data)
    return paths


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.fault("F02")
def test_every_line_is_paired_with_its_own(tmp_path, ending):
    paths = two(tmp_path, b"one\n\nthree\n", b"eins\n\n drei \n", ending)
    assert list(read_pairs(paths)) == [("one", "eins"), ("", ""), ("three", " drei ")]


@pytest.mark.fault("F01")
def test_a_byte_order_mark_and_carriage_returns_are_no_text(tmp_path):
    paths = two(tmp_path, b"\xef\xbb\xbfone\r\ntwo", b"eins\nzwei")
    assert list(read_pairs(paths)) == [("one", "eins"), ("two", "zwei")]


@pytest.mark.fault("F02")
def test_only_a_line_feed_ends_a_line(tmp_path):
    paths = two(tmp_path, "a\u2028b\x85c\x0cd\re\n".encode(), b"f\n")
    assert list(read_pairs(paths)) == [("a\u2028b\x85c\x0cd\re", "f")]


@pytest.mark.parametrize(("source", "target"), [(4, 2), (2, 4), (3, 2)])
@pytest.mark.fault("F02")
def test_files_of_different_length_name_both_counts(tmp_path, source, target):
    pairs = read_pairs(two(tmp_path, b"line\n" * source, b"Zeile\n" * target))
    with pytest.raises(InputError, match=rf"text\.en has {source} lines, .*text\.de has {target}"):
        list(pairs)


@pytest.mark.fault("F03")
def test_bytes_that_are_not_utf8_name_file_and_line(tmp_path):
    paths = two(tmp_path, b"one\ntwo\n", b"eins\nf\xfcnf\n")
    with pytest.raises(InputError, match=r"text\.de, line 2: not UTF-8"):
        list(read_pairs(paths))


@pytest.mark.fault("F03")
def test_such_bytes_can_be_marked_for_the_cleaning_to_drop(tmp_path):
    paths = two(tmp_path, b"one\ntwo\n", b"eins\nf\xfcnf\n")
    assert list(read_pairs(paths, "replace")) == [("one", "eins"), ("two", "f\ufffdnf")]


def test_an_empty_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"text\.en.*empty"):
        list(read_pairs(two(tmp_path, b"", b"")))


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    "data", [b"<html>not found</html>", gzip.compress(b"one\n" * 1000)[:30]], ids=["a page", "cut"]
)
def test_a_damaged_archive_is_named(tmp_path, data):
    paths = two(tmp_path, b"one\n", b"eins\n", ".gz")
    paths[1].write_bytes(data)
    with pytest.raises(InputError, match=r"text\.de\.gz: damaged"):
        list(read_pairs(paths))


PACKED = {
    "gzip": gzip.compress(b"eins\n"),
    "xz": lzma.compress(b"eins\n"),
    "bzip2": bz2.compress(b"eins\n"),
    "zstd": pa.compress(b"eins\n", "zstd", asbytes=True),
}


@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("name", ["text.de", "text.sgm", "text.de.gz", "text.tsv"])
def test_a_file_packed_otherwise_than_its_name_says_is_named_with_its_kind(tmp_path, name, kind):
    if (name, kind) == ("text.de.gz", "gzip"):
        return
    (tmp_path / "text.en").write_bytes(b"one\n")
    (tmp_path / name).write_bytes(PACKED[kind])
    paths = [tmp_path / name] if name == "text.tsv" else [tmp_path / name, tmp_path / "text.en"]
    with pytest.raises(
        InputError, match=rf"{name}: packed with {kind}, .*unpack it with (gunzip|unxz|bunzip2|unzstd)$"
    ):
        list(read_pairs(paths, "replace"))


def test_a_text_may_begin_like_the_name_of_a_packer(tmp_path):
    assert list(read_pairs(two(tmp_path, b"BZh9 is a mark\n", b"PK ist eins\n"))) == [("BZh9 is a mark", "PK ist eins")]


@pytest.mark.parametrize("names", [["text.en.GZ", "text.de.Gz"], ["text.TSV.GZ"], ["text.en.SGM.GZ", "text.de.sgm"]])
def test_endings_count_in_capitals_too(tmp_path, names):
    segment = "<doc docid='d'><seg id='1'>{}</seg></doc>\n"
    for name in names:
        text = "one\teins\n" if "TSV" in name else "one\n" if ".en" in name else "eins\n"
        text = segment.format(text.strip()) if ".sgm" in name.lower() else text
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.lower().endswith(".gz") else text.encode())
    files = find_files(origin(str(tmp_path), names))
    assert list(read_pairs(files["train"][0])) == [("one", "eins")]


@pytest.mark.fault("F06")
def test_quotes_in_a_tsv_are_text(tmp_path):
    path = tmp_path / "text.tsv"
    path.write_bytes(b'"Open the door\t"Mach die T\xc3\xbcr auf\nIt is open"\t"Sie ist offen"\n')
    assert list(read_pairs([path])) == [
        ('"Open the door', '"Mach die Tür auf'),
        ('It is open"', '"Sie ist offen"'),
    ]


@pytest.mark.fault("F06")
@pytest.mark.parametrize("line", [b"no tab\n", b"a\tb\tc\n", b"\n"])
def test_a_tsv_line_without_two_columns_is_named(tmp_path, line):
    path = tmp_path / "text.tsv"
    path.write_bytes(b"one\teins\n" + line)
    with pytest.raises(InputError, match=r"text\.tsv, line 2: [13] column"):
        list(read_pairs([path]))


def origin(folder, names):
    return FilesOrigin(kind="files", folder=folder, train=names, valid=names, test=names)


def test_the_folder_may_name_a_variable(tmp_path, monkeypatch):
    (tmp_path / "text.tsv.gz").touch()
    monkeypatch.setenv("OUR_TEXT", str(tmp_path))
    assert find_files(origin("$OUR_TEXT", ["text.tsv.gz"]))["valid"] == [[tmp_path / "text.tsv.gz"]]


def test_an_unset_variable_is_named_with_its_key(monkeypatch):
    monkeypatch.delenv("OUR_TEXT", raising=False)
    with pytest.raises(InputError, match=r"origin\.folder.*OUR_TEXT is not set"):
        find_files(origin("$OUR_TEXT/here", ["text.tsv"]))


def test_a_missing_file_is_named_with_its_key(tmp_path):
    with pytest.raises(InputError, match=r"none\.en: no such file \(origin\.train\)"):
        find_files(origin(str(tmp_path), ["none.en", "none.de"]))


def test_several_pairs_of_files_follow_each_other(tmp_path):
    two(tmp_path, b"one\ntwo\n", b"eins\nzwei\n")
    (tmp_path / "more.tsv").write_text("three\tdrei\n")
    sgm = '<doc docid="a"><seg id="1">four &lt;</seg></doc>'
    (tmp_path / "set.en.sgm").write_text(sgm)
    (tmp_path / "set.de.sgm").write_text(sgm.replace("four", "vier"))
    parts = [["text.en", "text.de"], ["more.tsv"], ["set.en.sgm", "set.de.sgm"]]
    texts = read_files(origin(str(tmp_path), parts), Languages(source="en", target="de"))
    assert list(texts.pairs["train"]) == [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four <", "vier <")]
    files = [source["file"] for source in texts.sources if source["split"] == "valid"]
    assert files == ["text.en", "text.de", "more.tsv", "set.en.sgm", "set.de.sgm"]


@pytest.mark.fault("F07")
def test_a_pair_of_files_in_the_wrong_order_is_named(tmp_path):
    two(tmp_path, b"The old house is not in the town.\n" * 9, "Das alte Haus ist nicht für den Ort.\n".encode() * 9)
    parts = [["text.en", "text.de"], ["text.de", "text.en"]]
    texts = read_files(origin(str(tmp_path), parts), Languages(source="en", target="de"))
    with pytest.raises(InputError, match=r"text\.de and text\.en: the sides are in each other's place"):
        list(texts.pairs["train"])
