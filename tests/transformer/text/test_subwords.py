import io

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.io.errors import InputError
from transformer.text.preparation import normalise
from transformer.text.subwords import BOS, EOS, PAD, UNK, Subwords

LINES = ["the cat sits on the mat", "die Katze sitzt auf der Matte", "ten cats sit, über 10² … “so”"] * 4


def train(path, **changes):
    special = {"pad_id": PAD, "unk_id": UNK, "bos_id": BOS, "eos_id": EOS, "unk_surface": "\ufffd"} | changes
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        model_type="bpe",
        vocab_size=70,
        character_coverage=1.0,
        normalization_rule_name="identity",
        minloglevel=2,
        **special,
    )
    path.write_bytes(model.getvalue())
    return path


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    return Subwords(train(tmp_path_factory.mktemp("subwords") / "subwords.model"))


@pytest.mark.fault("F10")
def test_text_survives_the_round_trip(subwords):
    assert subwords.decode(subwords.encode(LINES[:3])) == LINES[:3]


@pytest.mark.fault("F10")
@settings(deadline=None)
@given(st.text(st.sampled_from([*sorted(set("".join(LINES))), "\u00a0", "\u2581", "\u00ad", "\t"])))
def test_any_text_of_known_characters_comes_back_as_normalised(subwords, line):
    (ids,) = subwords.encode([line])
    assert UNK not in ids
    assert subwords.decode([ids]) == [normalise(line)]


def test_ids_have_no_begin_and_end_and_stay_in_the_vocabulary(subwords):
    assert subwords.size == 70
    assert all(EOS < i < 70 for ids in subwords.encode(LINES[:3]) for i in ids)


@pytest.mark.fault("F04")
def test_lines_that_look_alike_have_the_same_ids(subwords):
    one, other = subwords.encode(["über die Matte", "\ufeffu\u0308ber  die\u00a0Mat\u00adte"])
    assert one == other


def test_a_blank_line_is_empty(subwords):
    assert subwords.encode(["", " \u00a0"]) == [[], []]


@pytest.mark.fault("F12")
def test_an_unknown_character_is_one_visible_mark_without_extra_spaces(subwords):
    (ids,) = subwords.encode(["the catΔs"])
    assert ids.count(UNK) == 1
    assert subwords.decode([ids]) == ["the cat\ufffds"]


def test_names_of_special_symbols_in_a_text_are_text(subwords):
    (ids,) = subwords.encode(["the </s> <pad> cat"])
    assert not {PAD, BOS, EOS} & set(ids)


def test_special_ids_give_no_text(subwords):
    (ids,) = subwords.encode(["the cat"])
    assert subwords.decode([[BOS, *ids, EOS, PAD, PAD], []]) == ["the cat", ""]


@pytest.mark.fault("F13")
def test_other_special_ids_are_refused(tmp_path):
    path = train(tmp_path / "subwords.model", pad_id=-1, unk_id=0, bos_id=1, eos_id=2)
    with pytest.raises(InputError, match=r"\(-1, 0, 1, 2\)"):
        Subwords(path)


def test_a_missing_or_damaged_model_names_its_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.model: no such file"):
        Subwords(tmp_path / "none.model")
    (tmp_path / "bad.model").write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"bad\.model: damaged"):
        Subwords(tmp_path / "bad.model")
