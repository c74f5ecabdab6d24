"""Two trees over the same words: which brackets are marked, and what text and drawing show of them."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.text import Text

from tasks.scoring.tree_drawing import TreePair, as_text, draw, has_tags, levels, parents, unmatched
from transformer.text.trees import Phrase, Tree, read_brackets

GOLD = read_brackets(
    "(TOP (S (NP (NP (DT The) (NN price)) (PP (IN of) (NP (JJ green) (NNS apples)))) "
    "(VP (VBD was) (NP ($ $) (CD 2) (-LRB- -LRB-) ($ $) (CD 3) (-RRB- -RRB-))) (. .)))"
)
PREDICTED = read_brackets(
    "(TOP (S (NP (DT The) (NN price)) (PP (IN of) (ADJP (JJ green) (NNS apples))) "
    "(VP (VBD was) (NP ($ $) (CD 2) (-LRB- -LRB-) ($ $) (CD 3) (-RRB- -RRB-))) (. .)))"
)


def with_phrases(words: int, *phrases: tuple[str, int, int]) -> Tree:
    return Tree(["w"] * words, ["XX"] * words, [Phrase(*phrase) for phrase in phrases])


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.axes[0].texts if text.get_text()]


def test_brackets_are_matched_by_label_and_words() -> None:
    assert [phrase for phrase, alone in zip(GOLD.phrases, unmatched(GOLD, PREDICTED), strict=True) if alone] == [
        ("NP", 0, 5),
        ("NP", 3, 5),
    ]
    assert [phrase for phrase, alone in zip(PREDICTED.phrases, unmatched(PREDICTED, GOLD), strict=True) if alone] == [
        ("ADJP", 3, 5)
    ]


def test_of_equal_brackets_only_those_too_many_are_marked() -> None:
    twice, once = with_phrases(2, ("S", 0, 2), ("S", 0, 2), ("S", 1, 2)), with_phrases(2, ("S", 0, 2))
    assert unmatched(twice, once) == [False, True, True]
    assert unmatched(once, twice) == [False]


def test_parents_and_levels() -> None:
    tree = with_phrases(5, ("S", 0, 4), ("NP", 0, 1), ("NP", 0, 1), ("VP", 2, 4), ("NP", 3, 4))
    assert parents(tree) == ([-1, 0, 1, 0, 3], [2, 0, 3, 4, -1])
    assert levels(tree) == [3, 2, 1, 2, 1, 4]
    assert levels(with_phrases(2)) == [1]


def test_text_has_a_phrase_a_line_with_marks_in_the_margin() -> None:
    assert as_text(GOLD, unmatched(GOLD, PREDICTED), "-", tags=False) == [
        "    (S",
        "-     (NP",
        "        (NP The price)",
        "        (PP of",
        "-         (NP green apples)))",
        "      (VP was",
        "        (NP $ 2 -LRB- $ 3 -RRB-))",
        "      .)",
    ]


def test_text_can_show_tags() -> None:
    assert as_text(read_brackets("(TOP (NP (DT the) (NN dog)))"), [True], "+", tags=True) == [
        "+   (NP (DT the) (NN dog))"
    ]


def test_words_outside_of_all_phrases_stand_on_lines_of_their_own() -> None:
    tree = Tree(["```", "a", "b", "c"], ["XX"] * 4, [Phrase("NP", 1, 2), Phrase("VP", 2, 3)])
    lines = as_text(tree, [False, True], "+", tags=False)
    assert lines == ["    ```", "    (NP a)", "+   (VP b)", "    c"]  # four spaces: that ends no block of code


@pytest.mark.parametrize("tags", [True, False])
def test_drawing_shows_both_trees_and_colours_what_differs(tags: bool) -> None:
    predicted = PREDICTED if tags else Tree(PREDICTED.words, ["XX"] * len(PREDICTED.words), PREDICTED.phrases)
    assert has_tags(predicted) == tags
    shown = texts(draw("title", [TreePair("first", GOLD, predicted)]))
    names = [text.get_text() for text in shown]
    assert names.count("(") == names.count("apples") == names.count("price") == 2
    assert names.count("VBD") == names.count("CD") / 2 == 2 * tags
    coloured = [
        text.get_text() for text in shown if any(same_color(text.get_color(), some) for some in ("#0072B2", "#D55E00"))
    ]
    assert sorted(coloured) == ["ADJP", "NP", "NP"]
    assert {"title", "first", "gold", "predicted"} <= set(names)


def test_nothing_in_the_drawing_lies_upon_anything_else() -> None:
    stacked = with_phrases(3, ("CAPTION", 0, 3), ("FRAG", 0, 1), ("WHADJP", 0, 1), ("HEADING", 2, 3))
    figure = draw("title", [TreePair("a", GOLD, PREDICTED), TreePair("b", stacked, with_phrases(3))])
    canvas = FigureCanvasAgg(figure)
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in texts(figure)]
    for place, (name, box) in enumerate(boxes):
        assert figure.bbox.x0 < box.x0 < box.x1 < figure.bbox.x1, name
        for other, other_box in boxes[:place]:
            assert not box.overlaps(other_box), (name, other)


def test_each_bracket_has_its_lines_down_to_what_it_holds() -> None:
    (collection,) = draw("", [TreePair("", GOLD, GOLD)]).axes[0].collections[:1]
    # Beside stem and bar of each: every word and phrase hangs from one, but for the outermost.
    assert len(collection.get_segments()) == 2 * len(GOLD.phrases) + len(GOLD.words) + len(GOLD.phrases) - 1


def test_no_pair_gives_a_drawing_without_trees() -> None:
    assert [text.get_text() for text in texts(draw("title", []))] == ["title"]


@pytest.mark.fault("F31")
def test_depth_beyond_python_s_own_recursion() -> None:
    deep = with_phrases(2, *[("NP", 0, 2)] * 5000)
    assert levels(deep)[-1] == 5001
    assert len(as_text(deep, unmatched(deep, with_phrases(2)), "-", tags=False)) == 5000
