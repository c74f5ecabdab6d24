"""The page of outputs: which sentences are shown, which count as faulty, and BLEU by length beside a picture."""

from pathlib import Path

import pytest
import sacrebleu

from tasks.scoring.outputs_page import (
    Output,
    by_length,
    copies_source,
    is_empty,
    loses_numbers,
    read_outputs,
    repeats_itself,
    write_page,
)

METRIC = sacrebleu.BLEU(effective_order=True)
TEXTS = [
    ("The old horse sleeps here.", "Das alte Pferd schläft hier.", "Das alte Pferd schläft hier."),
    ("The red bird sings.", "Der rote Vogel singt.", "Der rote Hund singt."),
    ("Wait 5 minutes.", "Warte 5 Minuten.", "Warte."),
    ("Open the door", "Mach die Tür auf", ""),
    ("Close *all* <b>doors</b>", "Mach *alle* Türen zu", "Close *all* <b>doors</b>"),
]


def one(source: str, reference: str, hypothesis: str) -> Output:
    return Output(1, source, reference, hypothesis, 0.0, False)


@pytest.fixture
def page(tmp_path: Path) -> str:
    path, picture = write_page(
        tmp_path / "e.md", "e on test", TEXTS, lowercase=False, cut=tmp_path / "no.txt", language="de"
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    return path.read_text(encoding="utf-8")


def test_each_sentence_has_sacrebleus_own_score() -> None:
    outputs = read_outputs(METRIC, TEXTS, {2})
    assert [output.bleu for output in outputs] == [
        sacrebleu.sentence_bleu(hypothesis, [reference]).score for _, reference, hypothesis in TEXTS
    ]
    assert [output.line for output in outputs if output.cut] == [2]


def test_best_and_worst_come_in_their_order_with_source_and_reference(page: str) -> None:
    worst, best = page.split("## Worst")[1], page.split("## Best")[1]
    assert worst.index("- line 4, BLEU 0.0") < worst.index("- line 2, BLEU") < worst.index("- line 1, BLEU 100.0")
    assert best.index("- line 1,") < best.index("- line 2,") < best.index("- line 4,")
    assert (
        "- line 1, BLEU 100.0\n  - source: The old horse sleeps here.\n  - reference: Das alte Pferd schläft hier.\n"
        "  - output: Das alte Pferd schläft hier." in best
    )
    assert "1 outputs equal" in page


def test_faults_are_counted_and_shown(page: str) -> None:
    assert "| Empty | 1 | 20.0% |" in page
    assert "| Copies the source | 1 | 20.0% |" in page
    assert "| Loses numbers | 1 | 20.0% |" in page
    assert "| Repeats itself | 0 | 0.0% |" in page
    assert "### Empty\n\n- line 4," in page
    assert "### Repeats itself" not in page


def test_lines_cut_at_the_limit_are_named_where_the_search_noted_them(tmp_path: Path, page: str) -> None:
    assert "Cut at the length limit" not in page
    (tmp_path / "cut.txt").write_text("2\n3\n")
    path, _ = write_page(
        tmp_path / "e.md", "e on test", TEXTS, lowercase=False, cut=tmp_path / "cut.txt", language="de"
    )
    assert "| Cut at the length limit | 2 | 40.0% |" in path.read_text()


def test_text_is_shown_as_it_is_and_makes_no_markup(page: str) -> None:
    assert r"output: Close \*all\* \<b\>doors\</b\>" in page


def test_bleu_by_length_is_that_of_the_corpus_of_each_range() -> None:
    short, longer = ("a b c d e", "a b c d x", "a b c d e"), ("a b c d e f", "a b c d e f", "a b c d e f")
    outputs = read_outputs(METRIC, [short, longer, longer, ("w " * 51, "w", "w")], set())
    rows = by_length(METRIC, outputs)
    assert [row[:2] for row in rows] == [("1–5", 1), ("6–10", 2), ("51 or more", 1)]
    assert rows[0][2] == pytest.approx(sacrebleu.corpus_bleu([short[2]], [[short[1]]]).score)
    assert rows[1][2] == pytest.approx(100)


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "copies"),
    [
        ("Open the window", "Mach das Fenster auf", "open the window!", True),
        ("Open the window", "Mach das Fenster auf", "Mach das window auf", False),
        ("Open the window", "Mach das Fenster auf", "Mach the window", True),
        ("Marie Curie", "Marie Curie", "Marie Curie", False),  # a name stays
        ("Open", "Öffnen", "", False),
    ],
)
def test_what_counts_as_copying(source: str, reference: str, hypothesis: str, copies: bool) -> None:
    assert copies_source(one(source, reference, hypothesis)) == copies


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "repeats"),
    [
        ("a dog", "ein Hund", "ein Hund Hund", True),
        ("a dog", "ein Hund", "ein Hund und ein Hund und ein Hund", True),
        ("people who cross the street", "Leute auf der Straße", "Leute, die die Straße überqueren", False),
        ("very very old", "uralt", "sehr alt, sehr alt", False),
        ("ancient", "sehr sehr alt", "sehr sehr alt", False),
        ("hot", "heiß", "zu zu zu zu heiß", True),
        ("a dog and a cat", "ein Hund und eine Katze", "ein Hund und ein Kater", False),
    ],
)
def test_what_counts_as_repeating(source: str, reference: str, hypothesis: str, repeats: bool) -> None:
    assert repeats_itself(one(source, reference, hypothesis)) == repeats


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "loses"),
    [
        ("1,000.5 metres", "1.000,5 Meter", "1000,5 Meter", False),
        ("1,000.5 metres", "1.000,5 Meter", "100 Meter", True),
        ("3 cats", "drei Katzen", "Katzen", False),  # the reference has no figure either
        ("2 of 2", "2 von 2", "2 von allen", True),
        ("{1} of {2}", "{1} von {2}", "{1} von", True),
    ],
)
def test_what_counts_as_a_lost_number(source: str, reference: str, hypothesis: str, loses: bool) -> None:
    assert loses_numbers(one(source, reference, hypothesis)) == loses


@pytest.mark.fault("F30")
def test_blank_lines_have_a_score_and_are_no_fault_of_the_output() -> None:
    blank = read_outputs(METRIC, [("", "", ""), ("Yes", "", "Ja"), (" ", "Ja", "")], set())
    assert [output.bleu for output in blank] == [0.0, 0.0, 0.0]
    assert not any(map(is_empty, blank))


@pytest.mark.fault("F29")
def test_what_is_of_words_says_that_it_does_not_apply_to_text_without_spaces(tmp_path: Path) -> None:
    texts = [("The door is open.", "门开着，现在已经很晚了。", "门开着，现在很晚了。")]
    path, _ = write_page(tmp_path / "zh.md", "zh", texts, lowercase=False, cut=tmp_path / "no.txt", language="zh")
    page = path.read_text(encoding="utf-8")
    assert "|tok:zh|" in page and "BLEU 0.0" not in page
    assert "| 1–5 | 1 | " in page  # by words of the source, which has some
    assert "| Empty | 0 |" in page and "| Loses numbers | 0 |" in page
    assert "Copies the source" not in page and "Repeats itself" not in page
    assert "Those of copies and repetitions are not applicable" in page
    turned = [tuple(text[side] for side in (1, 0, 0)) for text in texts]
    path, picture = write_page(tmp_path / "en.md", "en", turned, lowercase=False, cut=tmp_path / "no", language="en")
    page = path.read_text(encoding="utf-8")
    assert "\n\nNot applicable: the sources are written without spaces between words.\n\n" in page
    assert "1–5" not in page and "| Copies the source | 0 |" in page
    assert picture.read_bytes().startswith(b"\x89PNG")
