"""Search for well-formed trees only: against all that there are, and with random models of both forms of trees."""

import itertools
import math
import random
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.random_model import VOCABULARY, random_model, use_word_pieces, write_folder
from transformer.io.errors import InputError
from transformer.io.files import read_json, write_json
from transformer.model import Transformer
from transformer.parsing import well_formed as tree_search
from transformer.parsing.parser import Parser
from transformer.parsing.well_formed import TreeSymbols, WellFormed
from transformer.search import Hypothesis, beam_search, length_limit
from transformer.settings import SearchSettings
from transformer.text.preparation import WORD_START
from transformer.text.special_symbols import BOS, EOS, PAD, SYMBOLS
from transformer.text.trees import Linearisation, linearise, opens, restore
from transformer.text.wordpieces import WordPieces
from transformer.translator import Translator

FORMS: list[Linearisation] = ["vinyals", "tensor2tensor", "words"]
LABELS = ("S", "NP", "VP", "X", "-LRB-")
# XX is a word of the text where the form has tags; (Fig is one in both, which nothing closes; other sub-words behind.
TEXT = ("(", ")", "(Fig", "XX", ")")


WORD = ("\u2581XX", "b")  # in two sub-words


def vocabulary(form: Linearisation, size: int = VOCABULARY) -> list[str]:
    """The pieces of a vocabulary: special ones, symbols, sub-words."""
    tags = ("(NN)", "(,)", "(-LRB-)", "(XX)") if form == "tensor2tensor" else ()
    symbols = dict.fromkeys((*(f"({label}" for label in LABELS), *(f"){label}" for label in LABELS), *tags, *TEXT))
    pieces = [*SYMBOLS, WORD_START, *(WORD_START + symbol for symbol in symbols), "(NP", ")NP", "XX"]
    return pieces + [chr(ord("a") + i) for i in range(size - len(pieces))]


def settings(beam: int, extra: int, ends_within_beam: bool = False) -> SearchSettings:
    return SearchSettings(
        beam=beam, penalty="paper", length_penalty=0.3, extra_length=extra, ends_within_beam=ends_within_beam
    )


def search(
    model: Transformer,
    pieces: list[str],
    form: Linearisation,
    words: list[int],
    sources: list[list[int]],
    how: SearchSettings,
) -> list[list[Hypothesis]]:
    """As many outputs for each source as the beam is wide; a word, where it is kept, is `WORD`."""
    symbols = TreeSymbols(pieces, form, model.embedding.device)
    word = [pieces.index(piece) for piece in WORD] if form == "words" else [PAD]
    constraint = WellFormed(
        symbols, [[word] * count for count in words], [length_limit(source, how) for source in sources]
    )
    return beam_search(model, sources, how, how.beam, constraint)


def symbols_of(output: Hypothesis, pieces: list[str]) -> list[str]:
    return "".join(pieces[i] for i in output.ids).replace(WORD_START, " ").split()


@pytest.mark.fault("F31")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("beam", [1, 4, 21])
def test_every_output_is_a_tree_over_the_words(beam: int, form: Linearisation) -> None:
    """Of random models and limits with much and with little room; sentences of different lengths in one batch."""
    pieces, phrases = vocabulary(form), 0
    for seed in range(6):
        draw = random.Random(seed)
        model = random_model(seed, noise=draw.choice([0.0, 0.3]), layers=1)
        words = [draw.randint(1, 12) for _ in range(6)]
        sources = [[draw.randrange(4, VOCABULARY) for _ in range(2 * count + draw.randint(0, 4))] for count in words]
        how = settings(beam, draw.choice([1, 2, 3, 10, 40]), draw.random() < 0.5)
        for count, source, found in zip(words, sources, search(model, pieces, form, words, sources, how), strict=True):
            for output in found:
                symbols = symbols_of(output, pieces)
                tree, repaired = restore(symbols, ["XXb"] * count, form)
                assert not repaired
                assert linearise(tree, form) == symbols
                assert not output.cut
                assert len(output.ids) <= length_limit(source, how)
                assert math.isfinite(output.score)
                phrases += len(tree.phrases)
    assert phrases > 50


@torch.no_grad()
def score(model: Transformer, source: list[int], ids: list[int]) -> float:
    """Of a whole output, from one pass without search; over the vocabulary without PAD and BOS, as in the search."""
    logits = model.logits(model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *ids]]), None))[0]
    logits[:, [PAD, BOS]] = -math.inf
    total = logits.log_softmax(1).gather(1, torch.tensor([[*ids, EOS]]).T).sum()
    return float(total) / ((5 + len(ids) + 1) / 6) ** 0.3


@pytest.mark.parametrize(
    ("form", "words", "run"),
    [("vinyals", 1, 12), ("vinyals", 2, 12), ("vinyals", 2, 1), ("vinyals", 3, 12), ("tensor2tensor", 2, 12)],
)
def test_a_beam_as_wide_as_the_space_finds_all_trees_there_are(
    form: Linearisation, words: int, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All sequences of symbols up to the limit, of which those that need no repair are scored one by one."""
    monkeypatch.setattr(tree_search, "LONGEST_RUN", run)
    leaves = ["XX"] if form == "vinyals" else ["(N)", "(XX)"]
    symbols = ["(A", ")A", "(B", ")B", *leaves]
    pieces = [*SYMBOLS, *(WORD_START + symbol for symbol in symbols), "x"]
    torch.manual_seed(words)
    model = Transformer(random_model(layers=1).settings, len(pieces)).double().eval()
    source = [4, 5, 6, 4]
    expected = [
        Hypothesis(ids, score(model, source, ids))
        for length in range(words, len(source) + 3)
        for ids in map(list, itertools.product(range(4, 4 + len(symbols)), repeat=length))
        if fits([symbols[i - 4] for i in ids], words, run, form)
    ]
    expected.sort(key=lambda output: -output.score)
    found = search(model, pieces, form, [words], [source], settings(len(expected) + 100, 2))[0]
    assert len(expected) >= 7
    assert [output.ids for output in found] == [output.ids for output in expected]
    assert [output.score for output in found] == pytest.approx([output.score for output in expected], abs=1e-4)


def fits(symbols: list[str], words: int, run: int, form: Linearisation) -> bool:
    """Whether they are a tree over so many words, and no more phrases than that begin in a row."""
    if restore(symbols, ["a"] * words, form)[1]:
        return False
    return all(len(list(some)) <= run for kind, some in itertools.groupby(symbols, opens) if kind)


class AllAllowed:
    """A constraint that forbids nothing."""

    def allowed(self, open_R: Tensor) -> Tensor:
        return torch.ones((len(open_R), VOCABULARY), dtype=torch.bool)

    def extend(self, parents_BW: Tensor, ids_BW: Tensor) -> None:
        pass

    def select(self, sentences: Tensor) -> None:
        pass


@pytest.mark.parametrize("beam", [1, 4, 21])
def test_a_constraint_that_allows_everything_changes_no_bit(beam: int) -> None:
    for seed in range(4):
        draw = random.Random(seed)
        model = random_model(seed, noise=0.0)
        sources = [[draw.randrange(4, VOCABULARY) for _ in range(draw.randint(1, 9))] for _ in range(5)]
        free = beam_search(model, sources, settings(beam, 6), beam)
        assert beam_search(model, sources, settings(beam, 6), beam, AllAllowed()) == free


def test_words_that_are_more_than_the_limit_are_cut() -> None:
    pieces = vocabulary("vinyals")
    found = search(random_model(), pieces, "vinyals", [9, 2], [[5, 6], [7, 8]], settings(4, 3))
    assert [(symbols_of(output, pieces), output.cut) for output in found[0]] == [(["XX"] * 5, True)]
    assert not found[1][0].cut


def test_symbols_are_told_from_other_pieces() -> None:
    pieces = vocabulary("tensor2tensor")
    symbols = TreeSymbols(pieces, "tensor2tensor", torch.device("cpu"))
    chosen = {name: {pieces[i] for i in getattr(symbols, name).nonzero().flatten()} for name in ("word_V", "opening_V")}
    assert chosen["word_V"] == {f"\u2581({tag})" for tag in ("NN", ",", "-LRB-", "XX")}
    assert chosen["opening_V"] == {f"\u2581({label}" for label in LABELS}
    with pytest.raises(InputError, match="no symbol for a word"):
        TreeSymbols([*SYMBOLS, "\u2581the", "\u2581(S", "\u2581)S"], "vinyals", torch.device("cpu"))


@pytest.mark.fault("F31")
@pytest.mark.parametrize("form", FORMS)
def test_a_parser_repairs_nothing(tmp_path: Path, form: Linearisation, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several batches; words of many sub-words, unknown ones among them, brackets, and a sentence without words."""
    folder = write_folder(tmp_path / "parser", noise=0.0)
    (folder / "subwords.model").write_bytes(WordPieces(vocabulary(form)).dump())
    parser = Parser(Translator.load(as_parser(folder, form)))
    monkeypatch.setattr("transformer.translator.TOKENS_AT_ONCE", 30)
    sentences = ["a cab", "( e )", "", "XX XX (Fig [b] '' é", "cabbage baggage a a a a", "a"]
    found = parser.parse([sentence.split() for sentence in sentences], well_formed=True)
    assert [parsed.tree.words for parsed in found] == [sentence.split() for sentence in sentences]
    assert not any(parsed.output.cut or parsed.repaired for parsed in found if parsed.tree.words)
    assert any(parsed.tree.phrases for parsed in found)
    assert any(parsed.repaired for parsed in parser.parse([sentence.split() for sentence in sentences]))


def as_parser(folder: Path, form: Linearisation) -> Path:
    """A model folder says that its targets are trees, and names the sub-words that it has now."""
    use_word_pieces(folder)
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", config | {"text": config["text"] | {"trees": form}})
    return folder


@pytest.mark.fault("F31")
def test_words_that_begin_like_brackets_are_no_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bracket and what is glued to it are two; a text's word such as (Fig opens no phrase."""
    pieces = vocabulary("words")
    folder = write_folder(tmp_path / "parser", noise=0.0)
    (folder / "subwords.model").write_bytes(WordPieces(pieces).dump())
    parser = Parser(Translator.load(as_parser(folder, "words")))
    written = [f"{WORD_START}(NP", "a", "b", f"{WORD_START}(Fig", f"{WORD_START})NP"]
    output = Hypothesis([pieces.index(piece) for piece in written], 0.0)
    monkeypatch.setattr(Translator, "search_ids", lambda *_: [[output]])
    (parsed,) = parser.parse([["ab", "(Fig"]])
    assert parsed.tree.phrases == [("NP", 0, 2)]
    assert parsed.tree.words == ["ab", "(Fig"]
    assert not parsed.output.cut
