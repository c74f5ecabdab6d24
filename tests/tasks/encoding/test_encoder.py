"""Lines put together from encoded words are what the model itself makes of them."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import subwords as stage
from tasks.encoding.encoder import Encoder
from transformer.io.errors import InputError
from transformer.text.bpe import Bpe
from transformer.text.preparation import normalise
from transformer.text.subwords import UNK, Subwords
from transformer.text.wordpieces import WordPieces

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


def learn(kind, lines, vocabulary, path):
    data = stage._train(stage.count_words(iter(lines)), vocabulary, [])
    path.write_bytes(data if kind == "bpe" else WordPieces(Bpe(data).pieces).dump())
    return Subwords(path)


@pytest.fixture(scope="module", params=["bpe", "wordpiece"])
def model(request, tmp_path_factory):
    return learn(request.param, TEXT, 75, tmp_path_factory.mktemp("subwords") / "subwords.model")


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


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no real text: REPRO_DATA is not set")
@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_real_news_is_encoded_as_by_the_model_and_comes_back(kind, tmp_path):
    """Lines of one set with the sub-words of another: with characters never seen, and U+2028 inside of some."""
    sets = Path(os.environ["REPRO_DATA"]) / "wmt14"
    learned, lines = (
        [*map(normalise, (sets / f"{name}.en-{language}.{language}").read_text("utf-8").split("\n"))]
        for name, language in (("newstest2012", "fr"), ("newstest2013", "de"))
    )
    model = learn(kind, learned, 2000, tmp_path / "subwords.model")
    encoded = Encoder(model).encode(lines).to_pylist()
    assert encoded == model.encode(lines)
    known = [i for i, ids in enumerate(encoded) if UNK not in ids]
    assert 2000 < len(known) < len(lines)
    assert model.decode([encoded[i] for i in known]) == [lines[i] for i in known]
    assert model.decode(model.encode(learned)) == learned
