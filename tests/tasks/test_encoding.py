"""Lines put together from encoded words are what the model itself makes of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import subwords as stage
from tasks.encoding import Encoder
from transformer.errors import InputError
from transformer.subwords import UNK, Subwords
from transformer.wordpieces import WordPieces

TEXT = ["the cat sits on the mat", "die Katze sitzt auf der Matte", "ten cats sit, über 10² … “so” again and again"]
ODD = [
    "",
    " ",
    "cat",
    "  the   cat ",
    "the▁cat ▁ mat",
    "ΔΔ Δ Δcat",
    "x" * 5000,
    "10²…“so”",
    "the\u00a0cat\u2028mat",
    "</s>",
]


@pytest.fixture(scope="module", params=["bpe", "wordpiece"])
def model(request, tmp_path_factory):
    data = stage._train(stage.count_words(iter(TEXT)), 75)
    path = tmp_path_factory.mktemp("subwords") / "subwords.model"
    path.write_bytes(data)
    if request.param == "wordpiece":
        bpe = Subwords(path)
        path.write_bytes(WordPieces(bpe.pieces(range(bpe.size))).dump())
    return Subwords(path)


def test_odd_lines_are_encoded_as_by_the_model(model):
    encoder = Encoder(model)
    for lines in (ODD, [*TEXT, *ODD], ODD[::-1], [""], []):
        assert encoder.encode(lines).to_pylist() == model.encode(lines)
    assert UNK in encoder.encode(["ΔΔ"]).to_pylist()[0]


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("catsihe Δ▁\t²ü\u00ad\u0308."), max_size=40), max_size=8))
def test_any_lines_are_encoded_as_by_the_model(model, lines):
    assert Encoder(model).encode(lines).to_pylist() == model.encode(lines)


def test_what_is_remembered_is_bounded(model):
    encoder = Encoder(model, characters_kept=100)
    lines = [f"cat{'s' * n} mat" for n in range(100)]
    for line in lines * 2:
        assert encoder.encode([line]).to_pylist() == model.encode([line])
        assert len(encoder._ids) < 50


def test_sub_words_that_cross_spaces_are_refused(tmp_path):
    path = tmp_path / "subwords.model"
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "▁", "a", "▁a▁a"]
    path.write_bytes(WordPieces(pieces).dump())
    with pytest.raises(InputError, match="cross spaces"):
        Encoder(Subwords(path))
