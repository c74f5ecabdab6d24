import unicodedata

import pytest

from transformer.text import normalise


@pytest.mark.fault("F04")
def test_decomposed_and_composed_letters_become_the_same():
    word = "Grüße für Zoë"
    assert normalise(unicodedata.normalize("NFD", word)) == normalise(word) == word


@pytest.mark.fault("F01")
@pytest.mark.fault("F04")
@pytest.mark.parametrize("mark", ["\ufeff", "\u200b", "\u200d", "\u200e", "\u2060", "\u00ad", "\u202a"])
def test_invisible_characters_are_dropped(mark):
    assert normalise(f"{mark}ope{mark}n the door") == "open the door"


@pytest.mark.fault("F03")
@pytest.mark.parametrize("space", ["\x00", "\x07", "\x85", "\u2028", "\u00a0", "\t", " \u3000 "])
def test_controls_and_odd_spaces_become_one_space(space):
    assert normalise(f"open{space}the door{space}") == "open the door"


@pytest.mark.fault("F10")
def test_forms_with_a_meaning_of_their_own_stay():
    line = "½ of 10² … is ™, ĳ and “quoted”"
    assert normalise(line) == line


@pytest.mark.fault("F02")
def test_what_is_only_blank_becomes_empty():
    assert normalise(" \u00a0\t\u200b\ufeff ") == ""
