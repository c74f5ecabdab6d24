"""Scores: sacreBLEU's own numbers, and counts that must agree before any is computed."""

import gzip
import os
from pathlib import Path

import pytest
import sacrebleu

from tasks.common.lines import read_lines, write_lines
from tasks.score import _score_translations, score_split
from transformer.io.errors import InputError

LANGUAGES = {"source": "en", "target": "xx"}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    corpus, outputs = tmp_path / "corpus", tmp_path / "outputs"
    corpus.mkdir()
    outputs.mkdir()
    write_lines(corpus / "test.en", ["one two three four five", "six\u2028seven", ""])
    write_lines(corpus / "test.xx", ["uno duo tri kvar kvin", "ses\u2028sep", "nul"])
    write_lines(outputs / "test.xx", ["uno duo tri kvar kvin", "ses sep", ""])
    return corpus, outputs


def test_bleu_is_sacrebleus_with_its_signature(folders: tuple[Path, Path]) -> None:
    scores = score_split(*folders, "test", LANGUAGES)
    hypotheses, references = (read_lines(folder / "test.xx") for folder in reversed(folders))
    assert scores["bleu"]["score"] == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert "tok:13a" in scores["bleu"]["signature"]
    assert scores["sentences"] == 3
    assert scores["bleu_of_copied_source"]["score"] < 5


@pytest.mark.fault("F29")
def test_a_target_without_spaces_is_scored_logged_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole stage, on a model of text in lower case: its figures of tokens do not apply."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("en", ["The door is open."]), ("zh", ["门开着，现在已经很晚了。"])):
        write_lines(tmp_path / f"valid.{name}", lines)
        write_lines(tmp_path / f"test.{name}", lines)
    translation = {"training": {"languages": {"source": "en", "target": "zh"}}, "text": {"lowercase": True}}
    scores, logged, written = _score_translations(tmp_path, tmp_path, translation, tmp_path / "e.md", "e")
    assert {"test_bleu", "valid_bleu", "test_chrf"} <= logged.keys()
    assert not {"test_bleu_paper", "test_bleu_lowercase_tokens", "test_ter"} & logged.keys()
    assert scores["test"]["bleu_paper"]["score"] is None
    assert all(path.exists() for path in written)
    assert capsys.readouterr().out == (
        "e: BLEU 100.00, chrF 100.00\ncase ignored: BLEU 100.00; on lower-cased tokens: not applicable\n"
    )


@pytest.fixture
def cased(tmp_path: Path) -> tuple[Path, Path]:
    """Raw references with capitals and stops, and the outputs of a model that writes lower-cased tokens."""
    corpus, outputs = tmp_path / "corpus", tmp_path / "outputs"
    corpus.mkdir()
    outputs.mkdir()
    write_lines(corpus / "test.en", ["Uno.", "Two."])
    write_lines(corpus / "test.xx", ["Da Hund, rota, zet da Gato.", "Da Gato ist alta!"])
    write_lines(outputs / "test.xx", ["da hund, rota, zet da vogi.", "da gato ist alta!"])
    write_lines(outputs / "test.tokens.xx", ["da hund , rota , zet da vogi .", "da gato ist alta !"])
    return corpus, outputs


@pytest.mark.fault("F29")
@pytest.mark.fault("F30")
def test_bleu_is_measured_on_plain_text_without_case_and_on_tokens_each_under_its_name(
    cased: tuple[Path, Path],
) -> None:
    scores = score_split(*cased, "test", LANGUAGES)
    tokens = scores["bleu_lowercase_tokens"]
    # By hand: 14 tokens, 13 right; 12 pairs, 10 right; 10 triples, 8 right; 8 quadruples, 6 right; equally long.
    assert tokens["precisions"] == pytest.approx([100 * 13 / 14, 100 * 10 / 12, 100 * 8 / 10, 100 * 6 / 8])
    assert tokens["score"] == pytest.approx(100 * (13 / 14 * 10 / 12 * 8 / 10 * 6 / 8) ** 0.25)
    assert (tokens["brevity_penalty"], tokens["output_tokens"], tokens["reference_tokens"]) == (1.0, 14, 14)
    assert tokens["signature"].endswith("|lower case, tokens of sacremoses 0.2.0")
    assert "case:lc|eff:no|tok:13a" in scores["bleu_lowercase"]["signature"]
    assert "case:mixed|eff:no|tok:13a" in scores["bleu"]["signature"]
    assert scores["bleu"]["score"] < scores["bleu_lowercase"]["score"]


def test_outputs_without_tokens_of_their_own_are_tokenised(cased: tuple[Path, Path]) -> None:
    written = score_split(*cased, "test", LANGUAGES)["bleu_lowercase_tokens"]
    (cased[1] / "test.tokens.xx").unlink()
    assert score_split(*cased, "test", LANGUAGES)["bleu_lowercase_tokens"] == written


def test_the_reference_of_multi30k_has_as_many_tokens_as_published(tmp_path: Path) -> None:
    if "REPRO_DATA" not in os.environ:
        pytest.skip("this machine has no multi30k: REPRO_DATA is not set")
    packed = Path(os.environ["REPRO_DATA"]) / "multi30k/test_2016_flickr.de.gz"
    lines = gzip.decompress(packed.read_bytes()).decode().removesuffix("\n").split("\n")
    for name in ("corpus/test.en", "corpus/test.de", "outputs/test.de"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_lines(tmp_path / name, lines)
    languages = {"source": "en", "target": "de"}
    scores = score_split(tmp_path / "corpus", tmp_path / "outputs", "test", languages)
    assert scores["bleu_lowercase_tokens"]["reference_tokens"] == 12103


def test_different_counts_are_named(folders: tuple[Path, Path]) -> None:
    corpus, outputs = folders
    write_lines(outputs / "test.xx", ["one line"])
    with pytest.raises(
        InputError, match=r"corpus/test\.en: 3 lines, .*/test\.xx: 3 lines, .*outputs/test\.xx: 1 lines"
    ):
        score_split(corpus, outputs, "test", LANGUAGES)


@pytest.mark.fault("F02")
def test_tokens_that_are_not_as_many_are_named(cased: tuple[Path, Path]) -> None:
    write_lines(cased[1] / "test.tokens.xx", ["da gato ist alta !"])
    with pytest.raises(InputError, match=r"outputs/test\.xx: 2 lines, .*outputs/test\.tokens\.xx: 1 lines"):
        score_split(*cased, "test", LANGUAGES)


def test_files_without_a_line_have_no_score(folders: tuple[Path, Path]) -> None:
    for path in (folders[0] / "test.en", folders[0] / "test.xx", folders[1] / "test.xx"):
        write_lines(path, [])
    with pytest.raises(InputError, match=r"test\.en: 0 lines, "):
        score_split(*folders, "test", LANGUAGES)


@pytest.mark.fault("F02")
def test_line_separators_inside_a_sentence_end_no_line(folders: tuple[Path, Path]) -> None:
    assert read_lines(folders[0] / "test.en")[1] == "six\u2028seven"
