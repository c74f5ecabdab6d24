import os
from pathlib import Path

import pytest

from tasks.cleaning.languages import learn_sides, other_language, other_script
from tasks.common.lines import read_lines

ENGLISH = ["Where is the key to the house?", "It is in the garden, under the old tree.", "The tree is old."]
GERMAN = ["Wo ist der Schlüssel zu dem Haus?", "Er ist in dem Garten, unter dem alten Baum.", "Der Baum ist alt."]
RUSSIAN = ["Где ключ от дома?", "Он в саду, под старым деревом.", "Дерево старое."]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("Le café est là.", False),
        ("Кофе готов.", True),
        ("The Кофе is hot.", False),
        ("Кофе (café).", False),
        ("咖啡好了 (hot)", True),
        ("100 % …", False),
    ],
)
def test_a_line_is_of_another_script_if_most_letters_are(line, wrong):
    english, _ = learn_sides(ENGLISH, GERMAN)
    assert other_script(line, english) == wrong


def test_scripts_are_those_of_the_held_out_lines():
    english, russian = learn_sides(ENGLISH, RUSSIAN)
    assert not other_script("Кофе готов.", russian)
    assert other_script("The coffee is hot.", russian)
    assert other_script("Кофе готов.", english)


def test_a_foreign_letter_or_two_in_the_held_out_lines_is_no_script_of_theirs():
    english, _ = learn_sides([*ENGLISH * 4, "Angle α."], GERMAN)
    assert other_script("Καλημέρα.", english)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("the garden is under the house", False),
        ("der Garten ist unter dem Haus", True),
        ("Der Garten, or the garden, is in the house.", False),
        ("Zürich, Genf, Basel", False),
        ("Les portes de cette maison restent toujours bien fermées.", True),
        ("In questa casa vivono in pace tre gatti neri.", True),  # "in" is a word of both sides, and says nothing
    ],
)
def test_a_line_is_of_another_language_by_its_frequent_words(line, wrong):
    english, _ = learn_sides(ENGLISH, GERMAN)
    assert other_language(line, english) == wrong


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no wmt14: REPRO_DATA is not set")
@pytest.mark.fault("F07")
def test_news_is_told_apart():
    folder = Path(os.environ["REPRO_DATA"]) / "wmt14"
    learned = learn_sides(*(read_lines(folder / f"newstest2013.en-de.{code}") for code in ("en", "de")))
    english, german = (read_lines(folder / f"newstest2012.en-de.{code}") for code in ("en", "de"))
    for lines, own, other in ((english, *learned), (german, *learned[::-1])):
        assert sum(other_language(line, own) for line in lines) < 0.005 * len(lines)
        assert sum(other_language(line, other) for line in lines) > 0.97 * len(lines)
