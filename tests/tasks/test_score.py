"""Scores: sacreBLEU's own numbers, and counts that must agree before any is computed."""

from pathlib import Path

import pytest
import sacrebleu

from tasks.lines import read_lines, write_lines
from tasks.score import read_split, sample_page, score_split
from transformer.errors import InputError

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


def test_different_counts_are_named(folders: tuple[Path, Path]) -> None:
    corpus, outputs = folders
    write_lines(outputs / "test.xx", ["one line"])
    with pytest.raises(InputError, match=r"test\.en 3, .*test\.xx 3, .*test\.xx 1"):
        read_split(corpus, outputs, "test", LANGUAGES)


@pytest.mark.fault("F02")
def test_line_separators_inside_a_sentence_end_no_line(folders: tuple[Path, Path]) -> None:
    assert read_lines(folders[0] / "test.en")[1] == "six\u2028seven"


def test_samples_stand_beside_their_references(folders: tuple[Path, Path]) -> None:
    page = sample_page("e", *folders, LANGUAGES)
    assert "- source: one two three four five\n- reference: uno duo tri kvar kvin\n- output: uno duo" in page
