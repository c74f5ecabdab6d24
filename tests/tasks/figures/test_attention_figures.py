"""Words from pieces, heads by their rules, and lines where the weights are."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from tasks.common.settings import AttentionPicture
from tasks.figures.attention import draw_far, draw_heads, draw_pronoun, draw_sharpest, most_different, sharpest
from tasks.figures.attention_words import Seen, by_words, seen, words
from tasks.results.stored import Results
from transformer.io.errors import InputError

PICTURE = AttentionPicture(sentence="He sees it.", far="sees", pronoun="it")
TRAINING = {"date": "2026-11-30T10:00:00+00:00", "mlflow_run": None, "made_by": [{"commit": "c0ffee" * 6}]}


def results(picture: AttentionPicture = PICTURE, scores: Any = None, **attention: Any) -> Results:
    params: Any = SimpleNamespace(attention=dict.fromkeys(attention, picture))
    return Results(params, scores or {}, {}, {}, None, [], {}, {}, attention)


def head(*largest: int) -> list[list[float]]:
    """Rows in which that many-th key has 0.8, and the others share the rest."""
    count = len(largest)
    return [[0.8 if key == best else 0.2 / (count - 1) for key in range(count)] for best in largest]


def stored() -> dict[str, Any]:
    pieces = ["▁He", "▁see", "s", "▁it", ".", "</s>"]
    heads = [head(0, 1, 2, 3, 4, 5), head(3, 3, 3, 0, 0, 0), head(5, 5, 5, 5, 5, 5), head(1, 1, 1, 1, 1, 1)]
    return {
        "experiment": "e", "layer": 1, "layers": 2, "source_pieces": pieces, "output_pieces": pieces,
        "decoder_pieces": ["<s>", *pieces[:-1]], "encoder": heads, "decoder": heads, "cross": heads,
        "training": TRAINING,
    }  # fmt: skip


def test_pieces_become_words_and_punctuation_stays_by_itself() -> None:
    assert words(["▁He", "▁see", "s", "▁it", ".", "</s>"]) == [
        ("He", [0]), ("sees", [1, 2]), ("it", [3]), (".", [4]), ("</s>", [5]),
    ]  # fmt: skip
    assert words(["▁", "X", "y", "▁a", "-", "b"]) == [("Xy", [0, 1, 2]), ("a", [3]), ("-", [4]), ("b", [5])]


def test_weights_of_a_words_pieces_are_added_up_and_its_own_averaged() -> None:
    rows = [[0.5, 0.25, 0.25], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]]
    found = by_words(rows, words(["▁a", "▁b", "c"]), words(["▁a", "▁b", "c"]))
    assert found[0] == [0.5, 0.5]
    assert found[1] == pytest.approx([0.3, 0.7])


def test_heads_that_look_at_themselves_or_at_the_end_are_not_sharp() -> None:
    shown = seen(stored(), "encoder")
    assert shown.queries == ["He", "sees", "it", ".", "</s>"]
    assert sharpest(shown, [0]) == [1, 3]  # of heads 0 to 3: 0 looks at itself, 2 at the end
    assert sharpest(shown, [1], count=1) == [1]


def test_the_two_that_differ_most() -> None:
    alike, other = head(0, 1), head(1, 0)
    assert most_different(Seen("", "", ["a", "b"], ["a", "b"], [alike, alike, other])) == [0, 2]
    assert most_different(Seen("", "", ["a", "b"], ["a", "b"], [alike])) == [0]


def elements(path: Path, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.parse(path).iter(f"{{http://www.w3.org/2000/svg}}{name}"))


def test_only_the_chosen_words_lines_are_drawn_from_all_heads(tmp_path: Path) -> None:
    draw_far(results(e=stored()), tmp_path / "far.svg")
    texts = elements(tmp_path / "far.svg", "text")
    (bold,) = [text.text for text in texts if text.get("font-weight") == "bold"][1:]  # behind the title
    assert bold == "sees"
    assert [text.text for text in texts][-4:] == ["head 4", "head 3", "head 2", "head 1"]
    lines = [path for path in elements(tmp_path / "far.svg", "path") if path.get("stroke-opacity")]
    assert len({path.get("d", "").split("C")[0] for path in lines}) == 1
    assert max(float(path.get("stroke-width", 0)) for path in lines) == pytest.approx(0.5 + 5 * 0.84)


def test_a_word_that_was_not_there_when_the_model_was_watched_is_named(tmp_path: Path) -> None:
    later = AttentionPicture(sentence="She reads it.", far="reads", pronoun="it")
    with pytest.raises(InputError, match=r"attention/e\.json: no word 'reads'.*attention@e"):
        draw_far(results(later, e=stored()), tmp_path / "far.svg")


def test_the_first_experiment_is_drawn_and_none_is_said(tmp_path: Path) -> None:
    both = results(e=stored(), f={**stored(), "experiment": "f"})
    draw_pronoun(both, tmp_path / "a.svg")
    assert [text.text for text in elements(tmp_path / "a.svg", "text")][:2] == [
        "e, encoder self-attention, layer 1 of 2",
        "MLflow run none, commit c0ffeec0, 2026-11-30",
    ]
    draw_sharpest(results(), "cross", tmp_path / "a.svg")
    assert [text.text for text in elements(tmp_path / "a.svg", "text")] == ["nothing measured yet"]


@pytest.mark.parametrize(("date", "is_drawn"), [(TRAINING["date"], True), ("2026-12-01T10:00:00+00:00", False)])
def test_what_is_of_another_training_than_the_scores_is_not_drawn(tmp_path: Path, date: str, is_drawn: bool) -> None:
    draw_heads(results(e=stored(), scores={"e": {"training": {"date": date}}}), tmp_path / "a.svg")
    texts = [text.text for text in elements(tmp_path / "a.svg", "text")]
    assert (texts == ["attention@e: of another training than the scores; run it again"]) is not is_drawn
    assert (len(texts) > 2) is is_drawn
