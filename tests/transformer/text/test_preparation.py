import os
import random
import re
import subprocess
import sys
import unicodedata

import pytest

from transformer.io.errors import InputError
from transformer.settings import TextSettings
from transformer.text.preparation import Preparation, normalise


def preparation(lowercase, tokenise, language="en"):
    return Preparation(TextSettings(lowercase=lowercase, tokenise=tokenise), language)


@pytest.mark.fault("F04")
def test_decomposed_and_composed_letters_become_the_same():
    word = "Grüße für Zoë"
    assert normalise(unicodedata.normalize("NFD", word)) == normalise(word) == word


@pytest.mark.fault("F01")
@pytest.mark.fault("F04")
@pytest.mark.parametrize(
    "mark",
    "\ufeff\u200b\u200d\u200e\u2060\u00ad\u202a\u034f\u061c\u115f\u17b4\u180e\u2065\u206a\u3164\uffa0\U000e0000\U000e0041",
)
def test_invisible_characters_are_dropped(mark):
    assert normalise(f"{mark}ope{mark}n the door") == "open the door"
    assert normalise(mark) == ""


@pytest.mark.parametrize("text", ["I \u2764\ufe0f it", "\u845b\U000e0100\u57ce", "\u2603\ufe0e"])
def test_variation_selectors_stay_where_they_vary_something(text):
    assert normalise(text) == text
    assert normalise(f"\ufe0f{text} \u200b\ufe0f\t\ufe0fnow\u200b") == f"{text} now"


def test_half_a_surrogate_pair_is_as_undecodable_bytes_are():
    assert normalise("open \ud83d the\udc00 door") == "open \ufffd the\ufffd door"


@pytest.mark.fault("F03")
@pytest.mark.parametrize("space", ["\x00", "\x07", "\x85", "\u2028", "\u00a0", "\t", " \u3000 ", "\u2581", "\u2800"])
def test_controls_and_odd_spaces_become_one_space(space):
    assert normalise(f"open{space}the door{space}") == "open the door"


@pytest.mark.fault("F10")
def test_forms_with_a_meaning_of_their_own_stay():
    line = "½ of 10² … is ™, ĳ and “quoted”"
    assert normalise(line) == line


@pytest.mark.fault("F02")
def test_what_is_only_blank_becomes_empty():
    assert normalise(" \u00a0\t\u200b\ufeff ") == ""


# Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt, and Variation_Selector in its PropList.txt.
IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SELECTOR = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def slow_normalise(line):
    """The rules of the module's docstring, one after the other."""
    line = re.sub("[\ud800-\udfff]", "\ufffd", line)
    line = re.sub("[\x00-\x20\x7f-\x9f\u2028\u2029\u2581\u2800\\s]", " ", line)
    kept = ""
    for character in line:
        seen = SELECTOR.match(character) and kept and not kept.endswith(" ")
        if seen or not IGNORABLE.match(character):
            kept += character
    return re.sub(" +", " ", unicodedata.normalize("NFC", kept)).strip(" ")


def test_no_character_is_treated_otherwise_for_being_fast():
    for code in range(sys.maxunicode + 1):
        line = f"a{chr(code)} b"
        assert normalise(line) == slow_normalise(line)


def test_no_mixture_of_characters_is_treated_otherwise_for_being_fast():
    choose = random.Random(1).choices
    letters, marks = "aeuU\u00fc\u212b\u1100\u1161\U0001f600\ufffd", "\u0308\u0301\u0327\u0344\u200b\u00ad\ufeff"
    odd = letters + marks + "\u034f\u3164\ufe0f\U000e0061\ud83d\u2800  \t\x00\x1c\x85\x9f\u00a0\u2000\u2028"
    for length in range(1, 12):
        for _ in range(2000):
            line = "".join(choose(odd, k=length))
            assert normalise(line) == slow_normalise(line), ascii(line)


@pytest.mark.parametrize(
    ("lowercase", "tokenise", "expected"),
    [
        (False, "none", "The well-known man (John's) paid 5,300 & left."),
        (True, "none", "the well-known man (john's) paid 5,300 & left."),
        (False, "moses", "The well-known man ( John 's ) paid 5,300 & left ."),
        (True, "moses", "the well-known man ( john 's ) paid 5,300 & left ."),
    ],
)
def test_text_is_prepared_as_the_settings_say(lowercase, tokenise, expected):
    line = " The\u00a0well-known man (John's) paid 5,300 & left."
    assert preparation(lowercase, tokenise).prepare(line) == expected


@pytest.mark.fault("F05")
def test_no_escapes_are_written_and_those_in_a_text_stay_text():
    moses = preparation(True, "moses")
    assert moses.prepare('Tom\'s "big" [red] <b> & | cat') == 'tom \'s " big " [ red ] < b > & | cat'
    assert "&" in moses.restore(moses.prepare("A &lt; b"))


@pytest.mark.parametrize(
    "line", ["ein hund rennt, und ein mann (im hut) lacht.", "was? ja!", "ein rot-weißes boot.", ""]
)
def test_tokens_become_plain_text_again(line):
    moses = preparation(True, "moses", "de")
    assert moses.restore(moses.prepare(line)) == line


def test_full_stops_stay_on_the_abbreviations_of_the_language():
    assert preparation(False, "moses", "de").prepare("Er sah bzw. hörte es.") == "Er sah bzw. hörte es ."
    assert preparation(False, "moses", "en").prepare("We saw Dr. Brown.") == "We saw Dr. Brown ."


def test_a_line_that_should_be_a_tree_and_is_none_is_named():
    trees = Preparation(TextSettings(lowercase=False, tokenise="none", trees="vinyals"), "tree")
    assert trees.prepare("(TOP (NP (NN tea)))") == "(NP XX )NP"
    with pytest.raises(InputError, match=r"a line among the trees is none \(1 bracket.*\): '\(TOP \(NP \(NN tea\)\)'"):
        trees.prepare("(TOP (NP (NN tea))")


def test_without_tokens_nothing_is_restored_and_the_tokeniser_is_not_loaded():
    code = (
        "import sys; from transformer.settings import TextSettings; "
        "from transformer.text.preparation import Preparation; "
        "line = Preparation(TextSettings(lowercase=True, tokenise='none'), 'en').restore('it ’s , so'); "
        "sys.exit(line != 'it ’s , so' or 'sacremoses' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": "."}).returncode == 0
