import errno
import io
import json
import random
import ssl
import sys
import threading
from http.client import HTTPResponse

import pytest

from tasks.origins import downloads
from tasks.origins.downloads import download
from tests.file_server import FileServer
from transformer.io.errors import InputError

CONTENT = random.Random(1).randbytes(300_000)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(downloads, "PAUSES", (0, 0, 0))
    with FileServer({"a.tgz": CONTENT, "mirror/a.tgz": CONTENT}) as server:
        yield server


def fetch(folder, urls, size=None, check=lambda path: None):
    return download(urls, folder / "a.tgz.part", folder / "a.tgz", size, check)


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def begin(folder, tag='"a.tgz-1"'):
    """What an earlier call left: the first 200,000 bytes of the file, of which the server had said `tag`."""
    (folder / "a.tgz.part").write_bytes(CONTENT[:200_000])
    (folder / "a.tgz.part.json").write_text(json.dumps({"validator": tag}))


def ranges(server):
    return [wanted for _, wanted in server.asked]


def test_a_file_arrives_whole(tmp_path, server):
    assert fetch(tmp_path, [server.url("a.tgz")], len(CONTENT)) == server.url("a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert left(tmp_path) == ["a.tgz"]


def test_a_cut_download_goes_on_where_it_was(tmp_path, server):
    server.cuts = [100_000, 50_000]
    fetch(tmp_path, [server.url("a.tgz")], len(CONTENT))
    assert [wanted for _, wanted in server.asked] == ["", "bytes=100000-", "bytes=150000-"]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(tmp_path, server):
    server.cuts, server.statuses = [200_000], [None, 503, 503, 503, 503]
    with pytest.raises(InputError, match=r"answers 503"):
        fetch(tmp_path, [server.url("a.tgz")])
    assert left(tmp_path) == ["a.tgz.part", "a.tgz.part.json"]
    fetch(tmp_path, [server.url("a.tgz")])
    assert server.asked[-1] == ("a.tgz", "bytes=200000-")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("tag", ['"a.tgz-2"', None], ids=["another version", "a server that names no version"])
def test_a_file_that_may_have_changed_meanwhile_is_not_pieced_together(tmp_path, server, tag):
    server.cuts, server.statuses = [200_000], [None, 503, 503, 503, 503]
    server.tags["a.tgz"] = None if tag is None else server.tags["a.tgz"]
    with pytest.raises(InputError):
        fetch(tmp_path, [server.url("a.tgz")])
    server.files["a.tgz"], server.tags["a.tgz"] = bytes(reversed(CONTENT)), tag
    fetch(tmp_path, [server.url("a.tgz")])
    assert (tmp_path / "a.tgz").read_bytes() == bytes(reversed(CONTENT))


@pytest.mark.parametrize("headers", [{"Content-Length": "300000"}, {}], ids=["with a length", "without one"])
def test_a_server_that_sends_all_instead_of_the_rest_gives_the_file(tmp_path, server, headers):
    begin(tmp_path)
    server.answers = [(200, headers, CONTENT)]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=200000-"]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Range": "bytes 100000-299999/300000"}, CONTENT[100_000:]),
        ({"Content-Range": "bytes 250000-299999/300000"}, CONTENT[250_000:]),
        ({"Content-Range": "pages 1-2/3"}, CONTENT[200_000:]),
        ({"Content-Range": "bytes 200000-299999/*"}, CONTENT[200_000:]),
        ({}, CONTENT[200_000:]),
        ({"Content-Type": "multipart/byteranges; boundary=x"}, b"--x\r\n"),
    ],
    ids=["from before", "from behind", "of another unit", "of how much", "from nobody knows where", "in parts"],
)
def test_a_range_that_was_not_asked_for_is_not_pieced_on_and_the_file_fetched_anew(tmp_path, server, headers, body):
    begin(tmp_path)
    server.answers = [(206, headers, body)]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=200000-", ""]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_server_that_gives_no_more_than_some_bytes_at_once_is_asked_for_the_next(tmp_path, server):
    begin(tmp_path)
    server.answers = [(206, {"Content-Range": "bytes 200000-249999/300000"}, CONTENT[200_000:250_000])]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=200000-", "bytes=250000-"]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("headers", [{}, {"Content-Range": "bytes */100000"}, {"Content-Range": "*"}])
def test_a_file_that_has_become_shorter_is_fetched_anew(tmp_path, server, headers):
    begin(tmp_path)
    server.answers = [(416, headers, b"")]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=200000-", ""]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_file_of_unknown_size_that_is_whole_already_is_not_fetched_again(tmp_path, server):
    begin(tmp_path)
    (tmp_path / "a.tgz.part").write_bytes(CONTENT)
    server.answers = [(416, {"Content-Range": "bytes */300000"}, b"")]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=300000-"]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT and left(tmp_path) == ["a.tgz"]


def test_more_than_the_known_size_is_fetched_anew(tmp_path, server):
    begin(tmp_path)
    (tmp_path / "a.tgz.part").write_bytes(CONTENT + b"x")
    fetch(tmp_path, [server.url("a.tgz")], len(CONTENT))
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_what_ends_too_soon_without_having_told_its_length_goes_on(tmp_path, server):
    server.answers = [(200, {"ETag": '"a.tgz-1"'}, CONTENT[:100_000])]
    fetch(tmp_path, [server.url("a.tgz")], len(CONTENT))
    assert ranges(server) == ["", "bytes=100000-"]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_server_that_always_begins_anew_and_breaks_off_is_given_up(tmp_path, server):
    server.tags["a.tgz"], server.cuts = None, [200_000, 100_000] * 10
    with pytest.raises(InputError, match=r"/a\.tgz: cut off after [12]00,000 of 300,000 bytes"):
        fetch(tmp_path, [server.url("a.tgz")])
    assert len(server.asked) == 5


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_download_goes_on_where_the_file_has_moved_to(tmp_path, server, status):
    begin(tmp_path, server.tags["mirror/a.tgz"])
    server.answers = [(status, {"Location": "/mirror/a.tgz"}, b"")]
    assert fetch(tmp_path, [server.url("a.tgz")], len(CONTENT)) == server.url("a.tgz")
    assert server.asked == [("a.tgz", "bytes=200000-"), ("mirror/a.tgz", "bytes=200000-")]
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Location": "/a.tgz"}, "the server answers 302 .*loop"),
        ({"Location": "file:///etc/hostname"}, "the server answers 302 .*not allowed"),
        ({}, "the server answers 302 Found"),
    ],
    ids=["in a circle", "to a file here", "nowhere"],
)
def test_a_file_that_has_moved_where_none_can_be_is_one_line(tmp_path, server, headers, message):
    begin(tmp_path)
    server.answers = [(302, headers, b"")] * 20
    with pytest.raises(InputError, match=message) as caught:
        fetch(tmp_path, [server.url("a.tgz")])
    assert "\n" not in str(caught.value)
    assert (tmp_path / "a.tgz.part").read_bytes() == CONTENT[:200_000]


def test_another_mirror_goes_on_with_the_same_version(tmp_path, server):
    server.tags["mirror/a.tgz"] = server.tags["a.tgz"]
    server.cuts, server.statuses = [200_000], [None, 404]
    assert fetch(tmp_path, [server.url("a.tgz"), server.url("mirror/a.tgz")]) == server.url("mirror/a.tgz")
    assert server.asked[-1] == ("mirror/a.tgz", "bytes=200000-")
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("tag", ['"a.tgz-2"', None], ids=["another version", "a server that names no version"])
def test_another_mirror_begins_anew_with_another_version(tmp_path, server, tag):
    server.files["mirror/a.tgz"], server.tags["mirror/a.tgz"] = bytes(reversed(CONTENT)), tag
    server.cuts, server.statuses = [200_000], [None, 404]
    fetch(tmp_path, [server.url("a.tgz"), server.url("mirror/a.tgz")])
    assert (tmp_path / "a.tgz").read_bytes() == bytes(reversed(CONTENT))


@pytest.mark.fault("F08")
def test_two_files_under_the_same_version_do_not_pass_their_check(tmp_path, server):
    server.files["a.tgz"], server.tags["mirror/a.tgz"] = bytes(300_000), server.tags["a.tgz"]
    server.cuts, server.statuses = [200_000], [None, 404]
    urls = [server.url(name) for name in ("a.tgz", "mirror/a.tgz", "mirror/a.tgz")]

    def check(path):
        if path.read_bytes() != CONTENT:
            raise InputError("another hash")

    fetch(tmp_path, urls, check=check)
    assert ranges(server) == ["", "bytes=200000-", "bytes=200000-", ""]


def test_a_server_that_is_busy_is_asked_again(tmp_path, server):
    begin(tmp_path)
    server.statuses = [500, 502, 429]
    fetch(tmp_path, [server.url("a.tgz")])
    assert ranges(server) == ["bytes=200000-"] * 4


def test_a_file_that_was_whole_before_its_check_is_not_fetched_again(tmp_path, server):
    (tmp_path / "a.tgz.part").write_bytes(CONTENT)
    fetch(tmp_path, [server.url("a.tgz")], len(CONTENT))
    assert server.asked == [] and left(tmp_path) == ["a.tgz"]


@pytest.mark.fault("F08")
def test_the_next_mirror_is_tried(tmp_path, server):
    server.statuses = [404]
    assert fetch(tmp_path, [server.url("a.tgz"), server.url("mirror/a.tgz")]) == server.url("mirror/a.tgz")


@pytest.mark.fault("F08")
def test_what_every_mirror_answers_is_said(tmp_path, server):
    with pytest.raises(InputError, match=r"/b\.tgz: the server answers 404 .*/c\.tgz: the server answers 404"):
        fetch(tmp_path, [server.url("b.tgz"), server.url("c.tgz")])
    assert left(tmp_path) == []


@pytest.mark.fault("F08")
def test_a_web_page_is_no_file(tmp_path, server):
    server.page = True
    with pytest.raises(InputError, match="a web page, not the file"):
        fetch(tmp_path, [server.url("a.tgz")])
    assert left(tmp_path) == []


@pytest.mark.fault("F08")
def test_another_size_is_refused_before_it_is_fetched(tmp_path, server):
    with pytest.raises(InputError, match="300,000 bytes, not 300,001"):
        fetch(tmp_path, [server.url("a.tgz")], len(CONTENT) + 1)
    assert left(tmp_path) == []


@pytest.mark.fault("F08")
def test_a_file_that_fails_its_check_is_deleted(tmp_path, server):
    server.files["a.tgz"] = b"x" * len(CONTENT)

    def check(path):
        if path.read_bytes() != CONTENT:
            raise InputError("another hash")

    assert fetch(tmp_path, [server.url("a.tgz"), server.url("mirror/a.tgz")], check=check).endswith("mirror/a.tgz")
    (tmp_path / "a.tgz").unlink()
    with pytest.raises(InputError, match=r"/a\.tgz: another hash"):
        fetch(tmp_path, [server.url("a.tgz")], check=check)
    assert left(tmp_path) == []


def test_a_server_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "PAUSES", (0,))
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/a\.tgz: cannot be fetched: .*refused"):
        fetch(tmp_path, ["http://127.0.0.1:9/a.tgz"])


@pytest.mark.parametrize("error", [OSError(errno.EHOSTUNREACH, "No route to host"), ssl.SSLError("bad record mac")])
def test_a_network_that_fails_while_a_file_comes_is_tried_again(tmp_path, server, monkeypatch, error):
    read = HTTPResponse.read
    faults = [error]
    monkeypatch.setattr(HTTPResponse, "read", lambda *args: read(*args) if not faults else _raise(faults.pop()))
    fetch(tmp_path, [server.url("a.tgz")], len(CONTENT))
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT and len(server.asked) == 2


def test_a_full_disk_is_not_a_cut(tmp_path, server, monkeypatch):
    monkeypatch.setattr(downloads.os, "fsync", lambda file: None)  # which that file does not know
    (tmp_path / "a.tgz.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        fetch(tmp_path, [server.url("a.tgz")])
    assert len(server.asked) == 1


def test_an_address_that_is_none_is_not_tried_again(tmp_path):
    with pytest.raises(InputError, match=r"http://\[: no address"):
        fetch(tmp_path, ["http://["])


def _raise(error):
    raise error


@pytest.mark.parametrize("sent", [0, 100_000], ids=["before its answer", "within the file"])
def test_who_keeps_a_download_waiting_is_told_once(tmp_path, server, monkeypatch, sent):
    """The server sends nothing more until that has been said."""
    said, told = [], threading.Event()

    class Errors(io.StringIO):
        def write(self, text):
            if "waiting" in text:
                said.append(text)
                told.set()
            return len(text)

    def answer(request):
        if not sent:
            told.wait()
        request.send_response(200)
        request.send_header("Content-Length", str(len(CONTENT)))
        request.end_headers()
        request.wfile.write(CONTENT[:sent])
        told.wait()
        request.wfile.write(CONTENT[sent:])

    server.answer = answer
    monkeypatch.setattr(downloads, "SECONDS_UNTOLD", 0.05)
    monkeypatch.setattr(sys, "stderr", Errors())
    fetch(tmp_path, [url := server.url("a.tgz")])
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT
    assert said == [f"a.tgz: waiting for {url.split('/')[2]}"]
