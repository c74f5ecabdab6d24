"""Perplexity of given translations, against one that is computed sentence by sentence."""

import math
from pathlib import Path

import pytest
import torch

from transformer.inspect.perplexity import perplexity
from transformer.io.errors import InputError
from transformer.loss import perplexity_of
from transformer.text.subwords import BOS, EOS
from transformer.translator import Translator

SOURCES = ["the red cat", "", "the old horse follows the small mouse", "fish"]
TARGETS = ["da gato", "da", "da hund ist alta", ""]


def test_it_is_the_mean_over_sub_words_and_end_symbols_whatever_the_batch(made: Path) -> None:
    translator = Translator.load(made)
    found = perplexity(translator, SOURCES, TARGETS)
    nats, count = 0.0, 0
    model = translator.model
    for source, target in zip(translator.encode(SOURCES), translator.subwords.encode(TARGETS), strict=True):
        gold = torch.tensor([*target, EOS])
        with torch.inference_mode():
            y_TD = model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]), None)[0]
            nats -= (y_TD @ model.embedding.T).log_softmax(1)[range(len(gold)), gold].sum().item()
        count += len(gold)
    assert found["nats"] == pytest.approx(nats, rel=1e-5)
    assert found["subwords"] == count
    assert found["per_subword"] == pytest.approx(math.exp(nats / count), rel=1e-5)
    assert found["words"] == 2 + 1 + 4 + 0 + 4  # of the raw text, and four ends
    assert found["per_word"] == pytest.approx(math.exp(nats / 11), rel=1e-5)


@pytest.mark.fault("F02")
@pytest.mark.parametrize(
    ("targets", "told"),
    [
        ([*TARGETS, "more"], "different numbers of lines: 4 sources, 5 targets"),
        (TARGETS[1:], "different numbers of lines: 4 sources, 3 targets"),
        ([], "4 sources, 0 targets"),
    ],
)
def test_lists_that_do_not_fit_have_none(made: Path, targets: list[str], told: str) -> None:
    """An extra target would only enlarge the divisor."""
    with pytest.raises(InputError, match=told):
        perplexity(Translator.load(made), SOURCES, targets)


def test_where_no_spaces_part_words_there_is_none_per_word(made: Path) -> None:
    found = perplexity(Translator.load(made), ["the door"], ["老房子的红色大门开着"])
    assert found["per_word"] is None
    assert found["words"] is None
    assert found["per_subword"] == pytest.approx(math.exp(found["nats"] / found["subwords"]))


def test_one_that_no_float_holds_is_infinite(made: Path) -> None:
    """As per word of a long URL: the stage died of it after its search."""
    translator = Translator.load(made)
    translator.model.embedding.data *= 1000
    found = perplexity(translator, ["the red cat"], ["da" * 200])
    assert found["nats"] > 710 * 2
    assert found["per_word"] == math.inf
    assert perplexity_of(709.0) == math.exp(709.0)


def test_pairs_too_long_for_memory_are_left_out_and_named(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = Translator.load(made)
    sources, targets, long = ["the red cat", "the fish"], ["da rota gato", "da fisu"], "the red cat " * 20
    expected = perplexity(translator, sources, targets)
    monkeypatch.setattr("transformer.translator.TOKENS_AT_ONCE", 31)
    found = perplexity(translator, [sources[0], long, "the cat", sources[1]], [targets[0], "da", long, targets[1]])
    assert found == pytest.approx(expected)
    assert "perplexity: without what is longer than 30 sub-words: line 2, 3\n" in capsys.readouterr().err
    with pytest.raises(InputError, match="no pair is within the 30 sub-words"):
        perplexity(translator, [long], ["da"])
