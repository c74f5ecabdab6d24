"""Scores of trees in files: gold tags put back, both searches, and outputs over other words refused."""

from pathlib import Path

import pytest

from tasks.common.lines import write_lines
from tasks.evalb.scores import with_gold_tags
from tasks.scoring.trees import score_splits
from transformer.io.errors import InputError

GOLD = [
    "(TOP (S (NP (NNP Ann)) (VP (VBZ sings)) (. .)))",
    "(TOP (S (NP (DT The) (NN tea)) (VP (VBZ is) (ADJP (JJ hot))) (. .)))",
]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A corpus and outputs without tags: the first tree is right, the second has three of four brackets."""
    corpus, outputs = tmp_path / "corpus", tmp_path / "outputs"
    corpus.mkdir()
    outputs.mkdir()
    found = [
        "(TOP (S (NP (XX Ann)) (VP (XX sings)) (XX .)))",
        "(TOP (S (NP (XX The) (XX tea)) (VP (XX is) (NP (XX hot))) (XX .)))",
    ]
    for split in ("valid", "test"):
        write_lines(corpus / f"{split}.tree", GOLD)
    for stem in ("valid", "test"):
        write_lines(outputs / f"{stem}.tree", found)
        write_lines(outputs / f"{stem}.cut.txt", [])
        write_lines(outputs / f"{stem}.repaired.txt", ["2"])
    write_lines(outputs / "test.well_formed.tree", GOLD)
    return corpus, outputs


def test_brackets_are_compared_with_the_gold_tags(folders: tuple[Path, Path]) -> None:
    """Without them the full stops, which do not count, would be taken for words of the outputs."""
    scores, parses = score_splits(*folders)
    test = scores["test"]
    assert (test["sentences"], test["failed"], test["tagging"]) == (2, 0, None)
    assert test["recall"] == test["precision"] == test["f1"] == pytest.approx(100 * 6 / 7)
    assert test["complete_match"] == 50
    assert [parse.f1 for parse in parses] == [100, 75]
    assert [parse.repaired for parse in parses] == [False, True]


def test_tags_that_the_model_writes_are_scored_by_themselves(folders: tuple[Path, Path]) -> None:
    corpus, outputs = folders
    wrong = [GOLD[0].replace("NNP", "NN"), GOLD[1].replace("(. .)", "(NN .)")]
    write_lines(outputs / "test.well_formed.tree", wrong)
    found = score_splits(corpus, outputs)[0]["test.well_formed"]
    assert (found["f1"], found["failed"]) == (100, 0)
    assert found["tagging"] == pytest.approx(100 * 6 / 8)


def test_outputs_over_other_words_are_refused(folders: tuple[Path, Path]) -> None:
    corpus, outputs = folders
    write_lines(outputs / "valid.tree", [GOLD[1], GOLD[0]])
    with pytest.raises(InputError, match="its words are not those of"):
        score_splits(corpus, outputs)


def test_lines_that_cannot_have_gold_tags_stay_as_they_are() -> None:
    """So that the scorer counts them as failed: no parse, no tree, other words."""
    found = ["", "(TOP (S (NP (XX The) (XX tea)", "(TOP (XX Ann))", "(TOP (XX Ann) (XX sings) (XX .))"]
    tagged = with_gold_tags([GOLD[0]] * 4, found)
    assert tagged == [*found[:3], "(TOP (NNP Ann) (VBZ sings) (. .))"]
