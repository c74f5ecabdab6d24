import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.io.errors import InputError
from transformer.text.preparation import normalise
from transformer.text.subwords import BOS, EOS, PAD, UNK, Subwords
from transformer.text.wordpieces import WordPieces

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
LETTERS = "abcdeßü.,</>s"
PIECES = [*SPECIAL, "▁", "▁a", "▁ab", "bc", "bcd", "de", *LETTERS]


def ids(*pieces):
    return [PIECES.index(piece) for piece in pieces]


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    path = tmp_path_factory.mktemp("subwords") / "subwords.model"
    path.write_bytes(WordPieces(PIECES).dump())
    return Subwords(path)


def test_each_piece_is_the_longest_that_fits_from_the_beginning_of_a_word_on(subwords):
    assert subwords.encode(["abcde", "bcde a"]) == [ids("▁ab", "c", "de"), ids("▁", "bcd", "e", "▁a")]


def test_the_file_says_its_kind_and_its_size(subwords):
    assert (subwords.kind, subwords.size) == ("wordpiece", len(PIECES))
    assert subwords.pieces([PAD, UNK, BOS, EOS, 6]) == [*SPECIAL, "▁ab"]


@pytest.mark.fault("F12")
def test_each_unknown_character_is_one_visible_mark(subwords):
    (found,) = subwords.encode(["aΔΔb Δ"])
    assert found == [*ids("▁a"), UNK, UNK, *ids("b", "▁"), UNK]
    assert subwords.decode([found]) == ["a\ufffd\ufffdb \ufffd"]


def test_names_of_special_symbols_in_a_text_are_text(subwords):
    (found,) = subwords.encode(["</s>"])
    assert EOS not in found
    assert subwords.decode([found]) == ["</s>"]


def test_special_ids_give_no_text(subwords):
    assert subwords.decode([[BOS, *ids("▁a", "bc"), EOS, PAD], []]) == ["abc", ""]


@pytest.mark.fault("F10")
@settings(deadline=None)
@given(st.text(LETTERS + " \t\u00a0\u2581"))
def test_text_of_known_characters_comes_back_exactly(subwords, line):
    (found,) = subwords.encode([line])
    assert UNK not in found
    assert subwords.decode([found]) == [normalise(line)]


@pytest.mark.fault("F13")
@pytest.mark.parametrize(
    "content",
    [
        {"kind": "wordpiece", "pieces": ["▁", *SPECIAL]},
        {"kind": "wordpiece", "pieces": [*SPECIAL, "a"]},
        {"kind": "wordpiece", "pieces": [*SPECIAL, "▁", "a", "a"]},
        {"kind": "wordpiece", "pieces": [*SPECIAL, "▁", 7]},
        {"kind": "wordpiece"},
        {"kind": "other", "pieces": PIECES},
        {},
    ],
)
def test_other_lists_are_refused_with_their_file(tmp_path, content):
    path = tmp_path / "subwords.model"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"subwords\.model: damaged"):
        Subwords(path)


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "subwords.model"
    path.write_bytes(WordPieces(PIECES).dump()[:-9])
    with pytest.raises(InputError, match=r"subwords\.model: damaged"):
        Subwords(path)
