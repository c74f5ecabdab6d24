"""The page about a parser's outputs: which sentences are drawn, what is counted, and how trees are compared in it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tasks.scoring.trees_page import Parse, choose, confusions, write_page
from transformer.text.trees import Phrase, Tree, read_brackets

GOLD = read_brackets("(S (NP (NML (NN rain) (NN water)) (NNS tanks)) (VP (VBP fill) (ADVP (RB slowly))) (. .))")
PREDICTED = read_brackets("(S (NP (NP (NN rain) (NN water)) (NNS tanks)) (VP (VBP fill) (PRT (RB slowly))) (. .))")
WRONG_SPAN = read_brackets("(S (NP (NN rain) (NML (NN water) (NNS tanks))) (VP (VBP fill) (ADVP (RB slowly))) (. .))")
SHORT = read_brackets("(NP (NNP Rain) (. .))")
UNTAGGED = Tree(GOLD.words, ["XX"] * 6, GOLD.phrases)


def parse(line: int, predicted: Tree, f1: float, gold: Tree = GOLD, repaired: bool = False, cut: bool = False) -> Parse:
    return Parse(line, gold, predicted, f1, repaired, cut)


def flat(words: int, f1: float, line: int, repaired: bool = False) -> Parse:
    tree = Tree(["w"] * words, ["XX"] * words, [Phrase("S", 0, words)])
    return Parse(line, tree, tree, f1, repaired, False)


PARSES = [
    parse(1, GOLD, 100),
    parse(2, PREDICTED, 50, repaired=True),
    parse(3, PREDICTED, 50, repaired=True, cut=True),
    parse(4, WRONG_SPAN, 80),
    parse(5, SHORT, 100, gold=SHORT),
]


@pytest.fixture
def page(tmp_path: Path) -> str:
    path, picture = write_page(tmp_path / "e.md", "e on test", PARSES)
    assert (path, picture) == (tmp_path / "e.md", tmp_path / "e.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    return path.read_text(encoding="utf-8")


def test_summary_and_f1_by_length(page: str) -> None:
    assert "5 sentences of the test split. F1 of single sentences: mean 76.0, median 80.0." in page
    assert "Same brackets as the treebank: 40.0% of the sentences" in page
    assert "tree over the words: 40.0%; cut at the length limit: 20.0%." in page
    assert "| 1–5 | 1 | 100.0 | 100.0% | 0.0% | 0.0% |\n| 6–10 | 4 | 70.0 | 25.0% | 50.0% | 25.0% |" in page


def test_confusions_are_labels_over_the_same_words(page: str) -> None:
    assert confusions(PARSES) == {("NML", "NP"): 2, ("ADVP", "PRT"): 2}
    assert "Another label for the same words: 4 of 5 missed brackets." in page
    assert "| ADVP | PRT | 2 |\n| NML | NP | 2 |" in page


def test_several_labels_over_the_same_words_are_paired_from_the_outer_to_the_inner() -> None:
    chain, other = ([Phrase(label, 0, 1) for label in labels] for labels in (["S", "VP", "NP"], ["ADJP", "S", "FRAG"]))
    found = confusions([parse(1, Tree(["w"], ["XX"], other), 0, gold=Tree(["w"], ["XX"], chain))])
    assert found == {("VP", "ADJP"): 1, ("NP", "FRAG"): 1}


def test_missed_and_invented_labels_are_counted(page: str) -> None:
    """Five times S would match; of four NML in gold the same words have that label once."""
    assert "| NML | 4 | 3 | 75.0% | 2 | 1 | 50.0% |" in page
    assert "| PRT | 0 | 0 | – | 2 | 2 | 100.0% |" in page
    assert "| S |" not in page


def test_trees_are_shown_as_text_with_differences_in_the_margin(page: str) -> None:
    shown = page[page.index("### Line 4, F1 80.0") :]
    assert (
        "Treebank:\n\n```diff\n    (S\n      (NP\n-       (NML (NN rain) (NN water))\n        (NNS tanks))\n" in shown
    )
    assert "Parser:\n\n```diff\n    (S\n      (NP (NN rain)\n+       (NML (NN water) (NNS tanks)))\n" in shown
    assert "### Line 3, F1 50.0 (worst, repaired, cut)" in page
    assert "### Line 5" not in page  # too short


def test_trees_without_tags_are_shown_without(tmp_path: Path) -> None:
    path, _ = write_page(tmp_path / "e.md", "e", [parse(1, UNTAGGED, 100)])
    assert "(NML rain water)" in path.read_text()
    assert "(NN rain)" not in path.read_text()


def test_the_same_trees_have_no_marks(tmp_path: Path) -> None:
    path, _ = write_page(tmp_path / "e.md", "e", [parse(1, GOLD, 100)])
    text = path.read_text()
    assert "\n-   " not in text and "\n+   " not in text
    assert text.count("None.") == 2


def chosen(parses: Sequence[Parse]) -> list[tuple[str, int]]:
    return [(reason, one.line) for reason, one in choose(list(parses))]


def test_drawn_are_ten_of_all_qualities_from_the_worst_to_the_best() -> None:
    parses = [flat(8, score, line=score + 1, repaired=score in (10, 44, 45)) for score in range(101)]
    assert chosen(reversed(parses)) == [
        ("worst", 1),
        ("worst", 2),
        ("poor", 25),
        ("poor", 26),
        ("repaired", 45),
        ("repaired", 46),
        ("typical", 50),
        ("typical", 51),
        ("best", 100),
        ("best", 101),
    ]


def test_of_equal_sentences_the_longer_then_the_earlier_are_drawn() -> None:
    parses = [flat(words, 0, line) for line, words in enumerate([*[6] * 10, 9, 9, 8], start=1)]
    assert [line for reason, line in chosen(parses) if reason == "worst"] == [11, 12]
    assert [line for _, line in chosen(parses)] == [*range(1, 8), 11, 12, 13]


def test_short_and_long_sentences_and_long_words_are_not_drawn() -> None:
    parses = [flat(words, 50, line=words) for words in range(1, 30)]
    assert [line for _, line in chosen(parses)] == list(range(5, 15))
    wide = Tree(["w" * 20] * 5, ["XX"] * 5, [])
    assert chosen([parse(1, wide, 0, gold=wide)]) == []


@pytest.mark.fault("F31")
def test_a_tree_deeper_than_python_s_recursion_is_counted_but_not_drawn(tmp_path: Path) -> None:
    deep = Tree(GOLD.words, GOLD.tags, [Phrase("NP", 0, 6)] * 5000)
    path, picture = write_page(tmp_path / "e.md", "e", [parse(1, deep, 0), parse(2, deep, 0, gold=deep)])
    assert picture.exists()
    assert "| NP | 5,001 | 1 | 0.0% | 10,000 | 5,000 | 50.0% |" in path.read_text()
    assert "### Line" not in path.read_text()
