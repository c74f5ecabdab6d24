"""A model goes from a release through a server to someone who translates and scores with it, and trains nothing."""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tasks.common.lines import write_lines
from tasks.evaluate import evaluate
from tasks.fetch_model import fetch_model
from tasks.origins import downloads
from tasks.release import release
from tasks.results.curves import with_columns
from tests.random_model import write_folder
from tests.workspace import sentences
from transformer.io.errors import InputError
from transformer.io.files import read_json, sha256, write_json
from transformer.translator import Translator


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models/e, its scores, and its release in releases/."""
    folder = tmp_path_factory.mktemp("made")
    model = write_folder(folder / "models/e")
    write_json(folder / "scores.json", {"training": read_json(model / "training.json"), "scores": {}})
    release(model, folder / "scores.json", folder / "releases")
    return folder


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that fails is tried again at once."""
    monkeypatch.setattr(downloads, "PAUSES", (0,))


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; /short ends before what it promised."""

    def do_GET(self) -> None:
        if self.path != "/short":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half")
        return None

    def log_message(self, *arguments: object) -> None:
        """Nothing on the tests' output."""


@pytest.fixture
def address(made: Path) -> Iterator[str]:
    """Where a server on this machine gives the release away."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(made / "releases")))
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def packed(path: Path, *entries: tarfile.TarInfo) -> str:
    """Write an archive of such entries, each with one byte if it is a file; returns its hash."""
    with tarfile.open(path, "w:gz") as archive:
        for entry in entries:
            entry.size = int(entry.isreg())
            archive.addfile(entry, io.BytesIO(b"x"))
    return sha256(path)


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def test_the_hash_is_that_of_the_archive_and_scores_are_in_it(made: Path) -> None:
    archive = made / "releases/e.tar.gz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert (made / "releases/e.tar.gz.sha256").read_text() == f"{digest}  e.tar.gz\n"
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    files = ["README.md", "config.json", "model.safetensors", "scores.json", "subwords.model", "training.json"]
    assert names == [f"e/{name}" for name in files]


def test_the_same_model_gives_the_same_bytes_at_another_time_and_place(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere/e"
    copy.mkdir(parents=True)
    for file in sorted((made / "models/e").iterdir(), reverse=True):
        (copy / file.name).write_bytes(file.read_bytes())
        (copy / file.name).chmod(0o600)
        os.utime(copy / file.name, (1, 1))
    again = release(copy, made / "scores.json", tmp_path)
    assert again.read_bytes() == (made / "releases/e.tar.gz").read_bytes()


@pytest.mark.parametrize("columns", [True, False])
def test_scores_are_known_by_either_form_of_a_curve(made: Path, tmp_path: Path, columns: bool) -> None:
    model = tmp_path / "e"
    shutil.copytree(made / "models/e", model)
    training = {**read_json(model / "training.json"), "curve": [{"update": 1, "perplexity": 9.123456}]}
    write_json(model / "training.json", training)
    write_json(tmp_path / "scores.json", {"training": with_columns(training) if columns else training})
    with tarfile.open(release(model, tmp_path / "scores.json", tmp_path)) as opened:
        assert "e/scores.json" in opened.getnames()


def test_scores_of_other_weights_are_left_out(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "scores.json", {"training": {"experiment": "e", "update": 2}})
    with tarfile.open(release(made / "models/e", tmp_path / "scores.json", tmp_path)) as opened:
        assert "e/scores.json" not in opened.getnames()
    assert "released without scores" in capsys.readouterr().err


def test_an_incomplete_model_is_not_released(made: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model folder"):
        release(made / "models/none", made / "scores.json", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_fetched_model_translates_and_scores_as_the_one_it_was_made_from(
    made: Path, address: str, tmp_path: Path
) -> None:
    digest = sha256(made / "releases/e.tar.gz")
    folder = fetch_model(f"{address}/e.tar.gz", digest, None, tmp_path / "models")
    assert folder == tmp_path / "models/e"
    assert [path.name for path in folder.parent.iterdir()] == ["e"]
    sources, references = zip(*sentences(5, seed=2), strict=True)
    translations = Translator.load(made / "models/e").translate(list(sources))
    assert Translator.load(folder).translate(list(sources)) == translations
    write_lines(tmp_path / "source.en", sources)
    write_lines(tmp_path / "reference.xx", references)
    write_lines(tmp_path / "its-own.xx", translations)
    worse = evaluate(folder, tmp_path / "source.en", tmp_path / "reference.xx")
    perfect = evaluate(folder, tmp_path / "source.en", tmp_path / "its-own.xx")
    assert (worse["sentences"], worse["bleu"]["score"] < 10) == (5, True)
    assert perfect["bleu"]["score"] == pytest.approx(100)


def test_a_model_that_is_there_stays_and_the_new_one_can_have_another_name(made: Path, tmp_path: Path) -> None:
    archive = made / "releases/e.tar.gz"
    (tmp_path / "e").mkdir()
    with pytest.raises(InputError, match=r"/e: there is a model already"):
        fetch_model(str(archive), sha256(archive), None, tmp_path)
    assert not list((tmp_path / "e").iterdir())
    assert fetch_model(str(archive), sha256(archive), "theirs", tmp_path) == tmp_path / "theirs"


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("/none.tar.gz", "the server answers 404"),
        ("/page.tar.gz", "looks like a web page; nothing was unpacked"),
        ("/torn.tar.gz", "its sha256 is"),
        ("/short", "cut off after 4 of 1,000 bytes"),
    ],
)
def test_what_is_not_the_release_is_refused_and_leaves_nothing(
    made: Path, address: str, tmp_path: Path, file: str, message: str
) -> None:
    archive = made / "releases/e.tar.gz"
    (made / "releases/page.tar.gz").write_text("<!doctype html><p>Please log in.")
    (made / "releases/torn.tar.gz").write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(InputError, match=message):
        fetch_model(address + file, sha256(archive), None, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.fault("F08")
def test_a_server_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9/e: cannot be fetched: .*refused"):
        fetch_model("http://127.0.0.1:9/e", "0" * 64, None, tmp_path)


@pytest.mark.parametrize(
    "entries",
    [
        [tarfile.TarInfo("../../outside")],
        [tarfile.TarInfo("/outside")],
        [tarfile.TarInfo("outside")],
        [tarfile.TarInfo("e/..")],
        [tarfile.TarInfo("e/config.json"), tarfile.TarInfo("other/config.json")],
        [tarfile.TarInfo("e/deep/config.json")],
        [link("e/config.json", tarfile.SYMTYPE, "/etc/hostname")],
        [link("e/config.json", tarfile.LNKTYPE, "e/model.safetensors")],
        [link("e/config.json", tarfile.FIFOTYPE, "")],
        [tarfile.TarInfo("e/config.json")],  # all that is wrong with it is that it is no model
        [],
    ],
)
@pytest.mark.parametrize("name", [None, "mine"])
def test_an_archive_of_the_right_hash_that_is_no_model_leaves_nothing(
    tmp_path: Path, entries: list[tarfile.TarInfo], name: str | None
) -> None:
    models = tmp_path / "a/models"
    digest = packed(tmp_path / "bad.tar.gz", *entries)
    with pytest.raises(InputError):
        fetch_model(str(tmp_path / "bad.tar.gz"), digest, name, models)
    assert {path.name for path in tmp_path.rglob("*")} == {"a", "models", "bad.tar.gz"}


@pytest.mark.parametrize(
    "content",
    [b"text", gzip.compress(b"text"), gzip.compress(b"x" * 10_000)[:-9]],
    ids=["text", "packed text", "cut"],
)
def test_a_file_that_is_no_archive_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch_model(str(tmp_path / "bad"), sha256(tmp_path / "bad"), None, tmp_path)


@pytest.mark.parametrize(
    ("archive", "digest", "message"),
    [("none.tar.gz", "0" * 64, "no such file, nor an address"), ("none.tar.gz", "0" * 63, "not 64 hexadecimal digits")],
)
def test_wrong_arguments_are_one_line(tmp_path: Path, archive: str, digest: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fetch_model(archive, digest, None, tmp_path)


def test_files_of_different_length_are_not_scored(made: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "source", ["the cat", "the dog"])
    write_lines(tmp_path / "reference", ["da gato"])
    with pytest.raises(InputError, match=r"has 2 lines, .* has 1"):
        evaluate(made / "models/e", tmp_path / "source", tmp_path / "reference")
    with pytest.raises(InputError, match="none: no such file"):
        evaluate(made / "models/e", tmp_path / "none", tmp_path / "reference")
    with pytest.raises(InputError, match="models: is a folder"):
        evaluate(made / "models/e", made / "models", tmp_path / "reference")


def test_a_reference_that_looks_tokenised_is_named_before_the_search(made: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "source", ["the cat", "the dog"])
    write_lines(tmp_path / "reference", ["da gato .", "da cano ."])
    with pytest.raises(InputError, match=r"reference: 2 of 2 lines look tokenised"):
        evaluate(made / "models/none", tmp_path / "source", tmp_path / "reference")


def test_a_source_may_come_through_a_pipe(made: Path, tmp_path: Path) -> None:
    """As `<(zcat source.gz)` in a shell."""
    write_lines(tmp_path / "reference", ["da gato"])
    os.mkfifo(tmp_path / "source")
    threading.Thread(target=write_lines, args=[tmp_path / "source", ["the cat"]]).start()
    assert evaluate(made / "models/e", tmp_path / "source", tmp_path / "reference")["sentences"] == 1
