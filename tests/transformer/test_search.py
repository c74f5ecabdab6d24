"""Beam search against a plain one without caches or batches, and its rules in hand-worked cases."""

import math
from typing import Literal

import pytest
import torch

from tests.workspace import PAPER
from transformer.model import Transformer
from transformer.search import beam_search, length_penalty
from transformer.settings import ModelSettings, SearchSettings
from transformer.subwords import BOS, EOS, PAD

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
def plain_search(model: Transformer, source: list[int], settings: SearchSettings) -> tuple[list[int], float]:
    """All hypotheses recomputed from the start at each step, one sentence, no early end but that of the paper."""
    memory_input = torch.tensor([[*source, EOS]])
    limit = len(source) + settings.extra_length

    def penalty(length: int) -> float:
        return ((5 + length) / 6 if settings.penalty == "paper" else length) ** settings.length_penalty

    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    best: tuple[list[int], float] = ([], -math.inf)
    while alive:
        candidates = []
        for score, ids in alive:
            logits = model.logits(model(memory_input, torch.tensor([[BOS, *ids]]), None))[0, -1]
            logits[[PAD, BOS]] = -math.inf
            for token, log_probability in enumerate(logits.log_softmax(0).tolist()):
                candidates.append((score + log_probability, [*ids, token]))
        candidates.sort(key=lambda candidate: -candidate[0])
        alive = []
        for score, ids in candidates[: 2 * settings.beam]:
            if ids[-1] == EOS:
                penalised = score / penalty(len(ids))
                best = max(best, (ids[:-1], penalised), key=lambda pair: pair[1])
            elif len(alive) < settings.beam and score > -math.inf:
                alive.append((score, ids))
        bound = alive[0][0] / penalty(limit + 1) if alive else -math.inf
        if bound <= best[1] or len(alive[0][1]) > limit:
            break
    return best


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize(("penalty", "alpha"), [("paper", 0.0), ("paper", 0.6), ("paper", 1.0), ("length", 1.0)])
def test_equals_a_plain_search_on_random_models(beam: int, penalty: Literal["paper", "length"], alpha: float) -> None:
    settings = search_settings(beam, alpha, 4, penalty)
    for seed in range(12):
        model = random_model(seed)
        sources = [[4, 5, 6], [7], [8, 8, 4, 5, 6], [5, 4]]
        for source, found in zip(sources, beam_search(model, sources, settings), strict=True):
            ids, score = plain_search(model, source, settings)
            if score > -math.inf:
                assert (found.ids, found.cut) == (ids, False)
                assert found.score == pytest.approx(score, abs=1e-4)
            else:
                assert found.cut


def test_a_wide_beam_is_exhaustive() -> None:
    settings = search_settings(200, 0.6, 1)
    model = random_model(3, vocabulary=6)
    source = [4, 5]
    memory = torch.tensor([[*source, EOS]])
    best = -math.inf
    open_: list[list[int]] = [[]]
    with torch.no_grad():
        for _ in range(4):
            following = []
            for ids in open_:
                logits = model.logits(model(memory, torch.tensor([[BOS, *ids]]), None))[0]
                logits[:, [PAD, BOS]] = -math.inf
                log_probabilities = logits.log_softmax(1)
                prefix = sum(float(log_probabilities[i, token]) for i, token in enumerate(ids))
                ended = (prefix + float(log_probabilities[-1, EOS])) / ((5 + len(ids) + 1) / 6) ** 0.6
                best = max(best, ended)
                following += [[*ids, token] for token in range(6) if token not in (PAD, BOS, EOS)]
            open_ = following
    assert beam_search(model, [source], settings)[0].score == pytest.approx(best, abs=1e-4)


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
        self.table, self.said = table, torch.empty(0)

    def start(self, memory_BSD: torch.Tensor) -> list:  # type: ignore[type-arg]
        self.said = Said()
        return [self.said]

    def step(self, ids_B: torch.Tensor, position: int, caches: list, mask: torch.Tensor | None) -> torch.Tensor:  # type: ignore[type-arg]
        if position:
            self.said.rows = [(*row, token) for row, token in zip(self.said.rows, ids_B.tolist(), strict=True)]
        else:
            self.said.rows = [()] * len(ids_B)
        logits = torch.full((len(ids_B), 6), -math.inf)
        for row, said in enumerate(self.said.rows):
            for token, probability in self.table.get(said, {EOS: 1.0}).items():
                logits[row, token] = math.log(probability)
        return logits


class Said:
    """Stands where a cache would: follows the beams."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []

    def select(self, rows: torch.Tensor) -> None:
        self.rows = [self.rows[i] for i in rows.tolist()] if self.rows else []

    def select_memory(self, rows: torch.Tensor) -> None: ...


def test_the_first_finished_hypothesis_does_not_end_the_search() -> None:
    """Saying nothing has 0.45 at once; 4 5 4 5 has 0.5 in the end, and longer outputs are penalised less."""
    table = {(): {EOS: 0.45, 4: 0.55}, (4,): {5: 1.0}, (4, 5): {4: 1.0}, (4, 5, 4): {5: 1.0}, (4, 5, 4, 5): {EOS: 1.0}}
    found = beam_search(Table(table).eval(), [[4]], search_settings(2, 0.6, 6))[0]
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
    found = beam_search(Table(table).eval(), [[4]], search_settings(3, alpha, 6, penalty))[0]
    assert found.ids == ids
    assert found.score == pytest.approx(score, abs=1e-4)


@pytest.mark.fault("F28")
def test_an_output_at_the_length_limit_is_marked() -> None:
    endless = {(4,) * n: {4: 1.0} for n in range(20)}
    found = beam_search(Table(endless).eval(), [[5, 5]], search_settings(2, 0.6, 3))[0]
    assert found.ids == [4] * 5
    assert found.cut


@pytest.mark.fault("F28")
def test_a_beam_wider_than_the_vocabulary_works() -> None:
    found = beam_search(random_model(1), [[4], [5, 6]], search_settings(30, 0.6, 3))
    assert len(found) == 2


def test_a_sentence_alone_and_in_a_batch_gives_the_same_output() -> None:
    model, settings = random_model(5), search_settings(4, 0.6, 10)
    sources = [[4, 5, 6, 7, 8], [6], [5, 5], [8, 7, 6, 4]]
    together = beam_search(model, sources, settings)
    alone = [beam_search(model, [source], settings)[0] for source in sources]
    assert [hypothesis.ids for hypothesis in together] == [hypothesis.ids for hypothesis in alone]
