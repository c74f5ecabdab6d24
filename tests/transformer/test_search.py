"""Beam search against a plain one without caches or batches, and its rules in hand-worked cases."""

import itertools
import math
import random
from typing import Literal

import pytest
import torch

from tests.workspace import PAPER
from transformer import search
from transformer.model import Transformer
from transformer.search import Hypothesis, beam_search, length_penalty
from transformer.settings import ModelSettings, SearchSettings
from transformer.text.subwords import BOS, EOS, PAD

SHAPE = ModelSettings(layers=1, d_model=16, d_ff=16, heads=2, d_k=8, d_v=8, dropout=0.0, **PAPER)


def search_settings(
    beam: int, alpha: float, extra: int, penalty: Literal["paper", "length"] = "paper"
) -> SearchSettings:
    return SearchSettings(beam=beam, penalty=penalty, length_penalty=alpha, extra_length=extra)


def random_model(seed: int, vocabulary: int = 9) -> Transformer:
    torch.manual_seed(seed)
    model = Transformer(SHAPE, vocabulary).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)  # sharper choices than a fresh model's
    return model


@torch.no_grad()
def plain_search(model: Transformer, source: list[int], settings: SearchSettings, n: int) -> list[Hypothesis]:
    """One sentence, all recomputed from the start at each step, and always to the length limit."""
    limit = len(source) + settings.extra_length
    alive: list[tuple[torch.Tensor, list[int]]] = [(torch.zeros(()), [])]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 2):
        base = (5 + length) / 6 if settings.penalty == "paper" else length
        candidates = []
        for total, ids in alive:
            logits = model.logits(model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *ids]]), None))[0, -1]
            logits[[PAD, BOS]] = -math.inf
            candidates += [(total + log, [*ids, token]) for token, log in enumerate(logits.float().log_softmax(0))]
        candidates = sorted(candidates, key=lambda pair: -pair[0])[: 2 * settings.beam]
        finished += [
            Hypothesis(ids[:-1], float(total) / base**settings.length_penalty)
            for total, ids in candidates
            if ids[-1] == EOS
        ]
        alive = [pair for pair in candidates if pair[1][-1] != EOS and pair[0] > -math.inf][: settings.beam]
        if length == limit:
            unfinished = Hypothesis(alive[0][1], float(alive[0][0]) / base**settings.length_penalty, cut=True)
    return sorted(finished, key=lambda hypothesis: -hypothesis.score)[:n] or [unfinished]


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """The same outputs in the same order; for models in fp64, where rounding is far below any difference of scores."""
    assert [(a.ids, a.cut) for a in found] == [(b.ids, b.cut) for b in expected]
    assert [a.score for a in found] == pytest.approx([b.score for b in expected], abs=1e-4)


@pytest.mark.parametrize("compact_at", [search.COMPACT_AT, 1])
def test_equals_a_plain_search_on_random_models(compact_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 models, two sentences each in one batch: beams, penalties, exponents, limits and n drawn at random."""
    monkeypatch.setattr(search, "COMPACT_AT", compact_at)
    cut, early = 0, 0
    for seed in range(200):
        draw = random.Random(seed)
        beam, vocabulary = draw.choice([1, 2, 3, 4, 7]), draw.choice([5, 6, 9, 12])
        penalty: Literal["paper", "length"] = draw.choice(["paper", "length"])
        settings = search_settings(beam, draw.choice([0.0, 0.6, 1.0]), draw.randint(1, 4), penalty)
        n = draw.randint(1, beam + 1)
        model = random_model(seed, vocabulary).double()
        sources = [[draw.randrange(4, vocabulary) for _ in range(draw.randint(1, 4))] for _ in range(2)]
        for source, found in zip(sources, beam_search(model, sources, settings, n), strict=True):
            same(found, plain_search(model, source, settings, n))
            cut += found[0].cut
            early += len(found[0].ids) < len(source)
    assert cut > 20
    assert early > 20


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("vocabulary", [6, 7])  # three or four of them real
def test_a_beam_as_wide_as_the_space_finds_all_there_is(vocabulary: int, alpha: float) -> None:
    """All outputs of up to three tokens, scored one by one and sorted."""
    model = random_model(vocabulary, vocabulary).double()
    memory = torch.tensor([[4, 5, EOS]])
    tokens = [token for token in range(vocabulary) if token not in (PAD, BOS, EOS)]
    expected = []
    for length in range(4):
        for output in itertools.product(tokens, repeat=length):
            with torch.no_grad():
                logits = model.logits(model(memory, torch.tensor([[BOS, *output]]), None))[0]
            logits[:, [PAD, BOS]] = -math.inf
            log_probabilities = logits.log_softmax(1)
            total = sum(float(log_probabilities[i, token]) for i, token in enumerate([*output, EOS]))
            expected.append(Hypothesis(list(output), total / ((5 + length + 1) / 6) ** alpha))
    expected.sort(key=lambda hypothesis: -hypothesis.score)
    same(beam_search(model, [[4, 5]], search_settings(200, alpha, 1), n=len(expected))[0], expected)


@pytest.mark.fault("F27")
@pytest.mark.parametrize(
    ("penalty", "length", "alpha", "expected"),
    [
        ("paper", 1, 0.6, 1.0), ("paper", 7, 0.6, 2**0.6), ("paper", 7, 1.0, 2.0), ("paper", 13, 0.0, 1.0),
        ("paper", 19, 0.5, 2.0), ("length", 1, 1.0, 1.0), ("length", 7, 1.0, 7.0), ("length", 13, 0.0, 1.0),
        ("length", 16, 0.5, 4.0),
    ],
)  # fmt: skip
def test_length_penalty_by_hand(
    penalty: Literal["paper", "length"], length: int, alpha: float, expected: float
) -> None:
    assert length_penalty(length, search_settings(4, alpha, 50, penalty)) == pytest.approx(expected)


class Table(Transformer):
    """A model whose next-token probabilities are written out: by what has been said so far."""

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]], vocabulary: int = 6) -> None:
        super().__init__(SHAPE, vocabulary)
        self.table, self.steps = table, 0

    def step(
        self, ids_BW: torch.Tensor, position: int, caches: list["Said"], mask: object, ancestors_BWE: torch.Tensor
    ) -> torch.Tensor:
        self.steps = position + 1
        caches[0].append(ids_BW)
        logits_BWV = torch.full((*ids_BW.shape, 6), -math.inf)
        for sentence, hypothesis in itertools.product(*map(range, ids_BW.shape)):
            entries = ancestors_BWE[sentence, hypothesis].nonzero().squeeze(1).tolist()
            _, *said = [caches[0].ids_BE[sentence][entry] for entry in entries]
            for token, probability in self.table.get(tuple(said), {EOS: 1.0}).items():
                logits_BWV[sentence, hypothesis, token] = math.log(probability)
        return logits_BWV

    def logits(self, y_BTD: torch.Tensor) -> torch.Tensor:
        return y_BTD


class Said:
    """Stands where a cache would: what the hypotheses of each sentence said, entry for entry."""

    def __init__(self, sentences: int) -> None:
        self.ids_BE: list[list[int]] = [[] for _ in range(sentences)]

    def append(self, ids_BW: torch.Tensor) -> None:
        for said, ids in zip(self.ids_BE, ids_BW.tolist(), strict=True):
            said += ids

    def select_entries(self, entries_BE: torch.Tensor, used: int) -> None:
        rows = zip(self.ids_BE, entries_BE.tolist(), strict=True)
        self.ids_BE = [[said[entry] for entry in entries[:used]] for said, entries in rows]

    def select(self, sentences: torch.Tensor) -> None:
        self.ids_BE = [self.ids_BE[i] for i in sentences.tolist()]


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `Table` is searched step by step too."""
    new_caches, decode_step = search.new_caches, search.decode_step
    monkeypatch.setattr(
        search,
        "new_caches",
        lambda model, memory: [Said(len(memory))] if isinstance(model, Table) else new_caches(model, memory),
    )
    monkeypatch.setattr(
        search,
        "decode_step",
        lambda model, *more: model.step(*more) if isinstance(model, Table) else decode_step(model, *more),
    )


def test_the_first_finished_hypothesis_does_not_end_the_search() -> None:
    """Saying nothing has 0.45 at once; 4 5 4 5 has 0.5 in the end, and longer outputs are penalised less."""
    table = {(): {EOS: 0.45, 4: 0.55}, (4,): {5: 1.0}, (4, 5): {4: 1.0}, (4, 5, 4): {5: 1.0}, (4, 5, 4, 5): {EOS: 1.0}}
    found = beam_search(Table(table).eval(), [[4]], search_settings(2, 0.6, 6), n=1)[0][0]
    assert found.ids == [4, 5, 4, 5]
    assert found.score == pytest.approx(math.log(0.55) / (10 / 6) ** 0.6, abs=1e-4)


@pytest.mark.fault("F27")
@pytest.mark.parametrize(
    ("penalty", "alpha", "ids", "score"),
    [
        ("paper", 0.0, [5], math.log(0.4)),
        ("paper", 1.0, [5], math.log(0.4) / (7 / 6)),
        ("length", 1.0, [4, 4, 4], math.log(0.3) / 4),
    ],
)
def test_each_form_of_the_penalty_counts_the_end_symbol(
    penalty: Literal["paper", "length"], alpha: float, ids: list[int], score: float
) -> None:
    """Two tokens with the end symbol at 0.4, four at 0.3: worth -0.458 each, or in the mean of tokens -0.301.

    By the paper's form the shorter has -0.916 / (7 / 6) = -0.785 and the longer -1.204 / (9 / 6) = -0.803; without the
    end symbol they would have -0.916 and -0.903, and the longer would win.
    """
    table = {(): {5: 0.4, 4: 0.3, EOS: 0.3}, (4,): {4: 1.0}, (4, 4): {4: 1.0}}
    found = beam_search(Table(table).eval(), [[4]], search_settings(3, alpha, 6, penalty), n=1)[0][0]
    assert found.ids == ids
    assert found.score == pytest.approx(score, abs=1e-4)


@pytest.mark.fault("F28")
def test_an_output_at_the_length_limit_is_marked() -> None:
    endless = {(4,) * n: {4: 1.0} for n in range(20)}
    found = beam_search(Table(endless).eval(), [[5, 5]], search_settings(2, 0.6, 3), n=1)[0][0]
    assert found.ids == [4] * 5
    assert found.cut


@pytest.mark.fault("F28")
def test_a_beam_wider_than_the_vocabulary_works() -> None:
    found = beam_search(random_model(1), [[4], [5, 6]], search_settings(30, 0.6, 3), n=30)
    assert all(0 < len(outputs) <= 30 and not outputs[0].cut for outputs in found)


@pytest.mark.parametrize(("n", "steps", "ids"), [(1, 1, [[]]), (2, 3, [[], [4, 5]]), (3, 4, [[], [4, 5], [4, 4, 5]])])
def test_it_ends_as_soon_as_nothing_can_enter_the_n_best(n: int, steps: int, ids: list[list[int]]) -> None:
    """Nothing at 0.7 at once; 4 5 at 0.2 after three steps; 4 4 5 at 0.06 after four; the rest goes on to the limit."""
    table = {
        (): {EOS: 0.7, 4: 0.3}, (4,): {5: 2 / 3, 4: 1 / 3}, (4, 5): {EOS: 1.0}, (4, 4): {5: 0.6, 4: 0.4},
        (4, 4, 5): {EOS: 1.0}, **{(4,) * length: {4: 1.0} for length in range(3, 20)},
    }  # fmt: skip
    model = Table(table).eval()
    found = beam_search(model, [[4]], search_settings(4, 0.0, 10), n)[0]
    assert [hypothesis.ids for hypothesis in found] == ids
    assert model.steps == steps


@pytest.mark.fault("F28")
def test_what_is_cut_is_the_best_that_fits_with_its_own_score() -> None:
    """5 5 is the best of two tokens; the continuations of 4 4 are likelier, but are longer than the limit."""
    table = {
        (): {4: 0.4, 5: 0.6}, (4,): {4: 1.0}, (4, 4): {4: 1.0}, (5,): {5: 1.0}, (5, 5): {1: 0.25, 3 + 1: 0.25, 5: 0.5},
    }  # fmt: skip
    found = beam_search(Table(table).eval(), [[4]], search_settings(2, 1.0, 1), n=2)[0]
    assert [(hypothesis.ids, hypothesis.cut) for hypothesis in found] == [([5, 5], True)]
    assert found[0].score == pytest.approx(math.log(0.6) / (7 / 6), abs=1e-4)


def test_a_sentence_alone_and_in_a_batch_gives_the_same_outputs() -> None:
    """In fp64 all of them to the token; in fp32 the best score, since a tie may fall either way."""
    settings = search_settings(4, 0.6, 6)
    for seed in range(4):
        draw = random.Random(seed)
        sources = [[draw.randrange(4, 9) for _ in range(draw.randint(1, 12))] for _ in range(12)]
        exact, model = random_model(seed).double(), random_model(seed)
        exact_together, together = (beam_search(m, sources, settings, n=4) for m in (exact, model))
        for source, exact_found, found in zip(sources, exact_together, together, strict=True):
            same(beam_search(exact, [source], settings, n=4)[0], exact_found)
            assert beam_search(model, [source], settings, n=4)[0][0].score == pytest.approx(found[0].score, abs=1e-4)
