import pickle

import numpy as np
import pytest

from tasks.cleaning.rules import Cleaner, HeldOut, as_it_is
from tasks.common.settings import Cleaning
from transformer.io.errors import InputError

GOOD = ("The door is open.", "Die Tür ist offen.")
HELD_OUT = {
    "valid": HeldOut({"Where is the key to the house?"}, {"Wo ist der Schlüssel zu dem Haus?"}),
    "test": HeldOut({"It is in the garden, under the old tree."}, {"Er ist in dem Garten, unter dem alten Baum."}),
}


def clean(*pairs, drop=(), **changed):
    settings = {"max_characters": 100, "max_words": None, "max_ratio": None, **changed}
    cleaner = Cleaner(Cleaning(**settings, drop=list(drop)), HELD_OUT)
    return pickle.loads(pickle.dumps(cleaner))(pairs)


def lines(cleaned):
    sides = [side.decode().split("\n") for side in (cleaned.source, cleaned.target)]
    assert [side.pop() for side in sides] == ["", ""]
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize(
    ("rule", "pair", "reason"),
    [
        ({"max_characters": 18}, ("Open the door, now.", "Öffne die Tür."), "too long"),
        ({"max_words": 4}, ("It is open now, too.", "Es ist offen."), "with too many words"),
        ({"max_ratio": 3.0}, ("Open the door now.", "Öffne."), "too different in length"),
        ({"max_ratio": 3.0}, ("Open.", "Öffne die Tür jetzt."), "too different in length"),
        ({"drop": ["escaped"]}, ("Doors &amp; keys.", "Türen & Schlüssel."), "escaped"),
        ({"drop": ["identical"]}, ("Garten-Center ", "Garten-Center"), "both sides the same"),
        ({"drop": ["other script"]}, ("The door is open.", "Дверь открыта (Tür)."), "in another script"),
        ({"drop": ["other language"]}, ("The house is old.", "The house is old, too."), "in another language"),
        ({"drop": ["overlap"]}, ("Where?", "Wo ist der Schlüssel zu dem Haus?"), "also in valid or test"),
        ({"drop": ["overlap"]}, ("It is in the garden, under the old tree.", "Dort."), "also in valid or test"),
    ],
)
def test_each_rule_drops_what_it_names_and_is_off_unless_set(rule, pair, reason):
    cleaned = clean(GOOD, pair, GOOD, **rule)
    assert lines(cleaned) == [GOOD, GOOD]
    assert {key: n for key, n in cleaned.counts.items() if key.startswith("dropped")} == {f"dropped: {reason}": 1}
    assert cleaned.read == 3
    assert len(lines(clean(GOOD, pair, GOOD))) == 3


def test_at_the_bounds_a_pair_stays():
    pair = ("One two three.", "Eins.")
    assert lines(clean(pair, max_characters=14, max_words=3, max_ratio=3.0)) == [pair]


@pytest.mark.fault("F04")
@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("The do\u200bor is open.", "invisible characters removed"),
        ("The  door is\u00a0open. ", "white space"),
        ("The du\u0308r is open.", "letters and marks composed"),
        ("The door &gt; open.", "escapes undone"),
    ],
)
def test_what_is_changed_is_counted_by_its_kind(source, how):
    assert clean((source, GOOD[1]), GOOD).counts == {f"changed: {how}": 1}


@pytest.mark.parametrize("damage", ["\ud83d", "\udc00", "\x00", "\x1c", "\x84", "\x9f", "\ufffd"])
def test_damaged_pairs_are_dropped_whatever_the_settings(damage):
    cleaned = clean(GOOD, (f"The {damage} door.", GOOD[1]))
    assert lines(cleaned) == [GOOD]
    assert cleaned.counts == {"dropped: damaged characters": 1}


def test_a_pair_that_is_dropped_does_not_count_as_changed():
    assert clean((" \u200b", GOOD[1])).counts == {"dropped: empty": 1}


def test_words_and_characters_are_counted_after_cleaning():
    cleaned = clean(("Open  the door. ", "Öffne sie."), ("", "Leer."), ("Go.", "Geh jetzt bitte los."))
    assert cleaned.words_N2.tolist() == [[3, 2], [1, 4]]
    assert cleaned.characters_N2.tolist() == [[14, 10], [3, 20]]


def test_equal_pairs_have_equal_hashes_and_others_do_not():
    cleaned = clean(GOOD, (GOOD[0] + " ", GOOD[1]), GOOD[::-1], drop=["duplicate"])
    assert cleaned.hashes_N[0] == cleaned.hashes_N[1] != cleaned.hashes_N[2]
    assert clean(GOOD).hashes_N is None


def test_only_the_chosen_pairs_stay():
    cleaned = clean(GOOD, ("Line\u2028one.", "Zeile."), ("Three.", "Drei."))
    some = cleaned.only(np.array([False, True, True]))
    assert lines(some) == lines(cleaned)[1:]
    assert some.words_N2.tolist() == cleaned.words_N2.tolist()[1:]
    assert some.read == 3


def test_a_test_line_that_would_become_two_is_refused():
    with pytest.raises(InputError, match="a line of test has a line break in it, after 'one'"):
        as_it_is([("one\ntwo", "eins")])
