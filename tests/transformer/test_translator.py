"""A model folder that translates on its own, and what it says when it is damaged."""

import io
import shutil
import sys
from pathlib import Path

import pytest

from tests.workspace import sentences
from transformer import __main__ as command
from transformer.errors import InputError
from transformer.files import read_json, write_json
from transformer.translator import Translator


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(made, tmp_path / "model")


def test_lines_keep_their_order_and_empty_ones_stay_empty(made: Path) -> None:
    translator = Translator.load(made)
    lines = ["the red cat sees the dog", "", "the fish", "  \u200b ", "the old horse follows the small mouse"]
    together = translator.translate(lines)
    assert [bool(line) for line in together] == [True, False, True, False, True]
    assert together == [translator.translate([line])[0] for line in lines]


def test_raw_lines_are_prepared_as_in_training_and_outputs_are_plain_text(folder: Path) -> None:
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", {**config, "text": {"lowercase": True, "tokenise": "moses"}})
    translator = Translator.load(folder)
    assert translator.encode(["The RED cat"]) == translator.encode(["the red cat"])
    assert translator.encode(["red(cat)"]) == translator.subwords.encode(["red ( cat )"])
    assert translator.restore(["da gato ( rota ) , alta ."]) == ["da gato (rota), alta."]
    lines = ["The old horse"]
    assert translator.translate(lines) == translator.restore(translator.decode(translator.search(lines)))


def test_saving_and_loading_changes_no_output(made: Path) -> None:
    first, second = Translator.load(made), Translator.load(made)
    assert first.model.embedding is not second.model.embedding
    assert first.translate(["the red cat"]) == second.translate(["the red cat"])


def test_a_character_never_seen_does_not_stop_it(made: Path) -> None:
    assert len(Translator.load(made).translate(["the \U0001f600 cat"])) == 1


def test_more_sentences_than_one_batch_takes(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [pair[0] for pair in sentences(20, seed=4)]
    whole = Translator.load(made).translate(lines)
    monkeypatch.setattr("transformer.translator.TOKENS_AT_ONCE", 30)
    assert Translator.load(made).translate(lines) == whole


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", None, "config.json: no such file"),
        ("config.json", b"{", "config.json: damaged"),
        ("config.json", b"{}", "config.json: source_language"),
        ("model.safetensors", None, "model.safetensors"),
        ("model.safetensors", b"torn", "model.safetensors: no readable weights"),
        ("subwords.model", b"other", "subwords.model: damaged"),
    ],
)
def test_a_damaged_folder_is_one_line_that_names_the_file(
    folder: Path, file: str, content: bytes | None, message: str
) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        Translator.load(folder)


@pytest.mark.fault("F13")
def test_another_sub_word_model_is_refused(folder: Path) -> None:
    with (folder / "subwords.model").open("ab") as file:
        file.write(b"\x12\x00")  # an empty field more: still a model, but another one
    with pytest.raises(InputError, match="not the sub-word model that these weights were trained with"):
        Translator.load(folder)


def test_the_command_translates_line_for_line(
    made: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    class Stdin:
        buffer = io.BytesIO("the cat\n\nthe dog\u2028the cat\nthe fish".encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    monkeypatch.setattr(sys, "argv", ["transformer", str(made)])
    monkeypatch.setattr(command, "LINES_AT_ONCE", 2)
    command.main()
    assert len(capfdbinary.readouterr().out.split(b"\n")) == 5


def test_a_line_that_is_not_utf8_is_named(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"the cat\nthe d\xf6g\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    monkeypatch.setattr(sys, "argv", ["transformer", str(made)])
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        command.main()
