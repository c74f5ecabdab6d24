import gzip

import pytest

from tasks.origins.sgm import read_sgm
from transformer.io.errors import InputError

SOURCE = """<srcset setid="made-up" srclang="any">
<doc sysid="src" docid="a/1" genre="news" origlang="en">
<hl><seg id="1">Heading</seg></hl>
<p>
<seg id="2">Fish &amp; chips &lt;b&gt; &quot;now&quot; &#8212; &amp;lt; AT&T</seg>
<seg id="3">
 Over
   two lines\u00a0</seg>
</p>
</doc>
<DOC docid='b'>
<SEG ID=1></SEG><seg id="2"/>
<seg id="3">a\u2028b</seg>
</DOC>
</srcset>
"""
TARGET = SOURCE.replace("Heading", "Titel").replace("Over", "\u00dcber").replace("two lines", "zwei Zeilen")


def two(folder, source=SOURCE, target=TARGET):
    paths = [folder / "set-src.en.sgm", folder / "set-ref.de.sgm"]
    for path, text in zip(paths, (source, target), strict=True):
        path.write_bytes(text.encode())
    return paths


def test_entities_lines_and_empty_segments(tmp_path):
    pairs = list(read_sgm(*two(tmp_path)))
    assert pairs[0] == ("Heading", "Titel")
    assert pairs[1][0] == 'Fish & chips <b> "now" \u2014 &lt; AT&T'
    assert pairs[2] == ("Over two lines\u00a0", "\u00dcber zwei Zeilen\u00a0")
    assert pairs[3:] == [("", ""), ("", ""), ("a\u2028b", "a\u2028b")]


@pytest.mark.fault("F02")
def test_documents_are_paired_by_their_ids_in_the_order_of_the_source(tmp_path):
    first, second = TARGET.index("<doc "), TARGET.index("<DOC ")
    turned = TARGET[second : TARGET.index("</srcset>")] + TARGET[first:second]
    assert list(read_sgm(*two(tmp_path, target=turned))) == list(read_sgm(*two(tmp_path)))
    other_ids = two(tmp_path, target=TARGET.replace("a/1", "a/1.de").replace("docid='b'", "docid='b.de'"))
    assert next(read_sgm(*other_ids)) == ("Heading", "Titel")


def documents(*ids):
    return "".join(f'<doc docid="{docid}"><seg id="1">{place}</seg></doc>' for place, docid in enumerate(ids))


@pytest.mark.fault("F02")
@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (("d1", "d2"), ("d2", "D1"), r"ref\.de\.sgm: document 'd1' is in it 0 time\(s\), in .*src\.en\.sgm 1 time"),
        (("d1", ""), ("", "d2"), r"document 'd1' is in it 0 time"),
        (("d1", "d1", "d2"), ("d1", "d2", "d2"), r"document 'd1' is in it 1 time\(s\), in .* 2 time"),
        (("d1", "d1", "d2"), ("d1", "d2", "d1"), r"document 'd1' is in it 2 time\(s\), in .* 2 time"),
    ],
)
def test_ids_that_fit_in_part_pair_nothing(tmp_path, sources, targets, message):
    with pytest.raises(InputError, match=message):
        list(read_sgm(*two(tmp_path, documents(*sources), documents(*targets))))


@pytest.mark.parametrize("ids", [("d1", "d1"), ("", "")])
def test_ids_that_are_the_same_in_their_order_need_not_tell_documents_apart(tmp_path, ids):
    assert list(read_sgm(*two(tmp_path, documents(*ids), documents(*ids)))) == [("0", "0"), ("1", "1")]


@pytest.mark.fault("F02")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        (TARGET.replace('<seg id="3">a\u2028b</seg>\n', ""), r"ref\.de\.sgm: document 'b' has other segments .*: 3"),
        (TARGET[: TARGET.index("<DOC")], r"src\.en\.sgm has 2 documents, .*ref\.de\.sgm has 1"),
        (TARGET.replace("Titel</seg>", "Titel"), r"ref\.de\.sgm, line 3: a segment without its </seg>"),
        (TARGET.replace("b</seg>", "b"), r"ref\.de\.sgm: its last segment has no </seg>; is the file whole\?"),
        ("<html>404</html>", r"ref\.de\.sgm: no SGM"),
        ('<seg id="1">a</seg>', r"ref\.de\.sgm, line 1: .* outside any <doc>"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, target, message):
    with pytest.raises(InputError, match=message):
        list(read_sgm(*two(tmp_path, target=target)))


@pytest.mark.fault("F01")
def test_a_byte_order_mark_is_no_text_and_gz_is_read(tmp_path):
    source, target = two(tmp_path, source="\ufeff" + SOURCE)
    packed = tmp_path / "set-src.en.sgm.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert list(read_sgm(packed, target)) == list(read_sgm(*two(tmp_path)))
    packed.write_bytes(packed.read_bytes()[:40])
    with pytest.raises(InputError, match=r"src\.en\.sgm\.gz: damaged"):
        list(read_sgm(packed, target))


@pytest.mark.fault("F03")
def test_bytes_that_are_not_utf8_name_file_and_line(tmp_path):
    source, target = two(tmp_path)
    target.write_bytes(TARGET.encode("utf-8").replace("\u00dc".encode(), b"\xdc"))
    with pytest.raises(InputError, match=r"ref\.de\.sgm, line 7: not UTF-8"):
        list(read_sgm(source, target))
