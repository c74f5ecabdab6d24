"""Beam search as in section 6.1: batched over sentences, with key/value caches; finished sentences leave the batch.

Legend: B sentences still searched, W beam, S source positions, V vocabulary. Rows of the decoder's batch are B * W.
"""

import math
from bisect import insort
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transformer.model import LayerCache, Transformer, padding_mask
from transformer.settings import SearchSettings
from transformer.subwords import BOS, EOS, PAD


def length_penalty(length: int, settings: SearchSettings) -> float:
    """By what a sum of log-probabilities is divided; `length` is |Y|, the end symbol counted.

    ((5 + |Y|) / 6) ** alpha is that of Wu et al. 2016 (equation 14), to which section 6.1 refers; |Y| ** alpha is what
    other toolkits mean by the name, with alpha 1 the mean log-probability of a token. Both grow with the length.
    """
    base = (5 + length) / 6 if settings.penalty == "paper" else length
    return float(base**settings.length_penalty)


@dataclass
class Hypothesis:
    """One output: ids without the end symbol, penalised score (natural logarithm), whether the length limit cut it."""

    ids: list[int]
    score: float
    cut: bool = False


@dataclass
class _Sentence:
    """What the search knows of one sentence: its length limit and its n best finished outputs, best first.

    `unfinished` is the best output of just the length limit.
    """

    limit: int
    n: int
    finished: list[Hypothesis] = field(default_factory=list)
    unfinished: Hypothesis = field(default_factory=lambda: Hypothesis([], -math.inf, cut=True))

    @property
    def to_beat(self) -> float:
        """A hypothesis that finishes with no more than this does not enter the n best."""
        return self.finished[-1].score if len(self.finished) == self.n else -math.inf

    def finish(self, hypothesis: Hypothesis) -> None:
        """Enter it; of equal ones the first to finish stands first."""
        insort(self.finished, hypothesis, key=lambda other: -other.score)
        del self.finished[self.n :]


@torch.inference_mode()
def beam_search(
    model: Transformer, sources: list[list[int]], settings: SearchSettings, n: int
) -> list[list[Hypothesis]]:
    """The n best outputs for each source (ids without end symbol), best first, in the order of the sources.

    The search of a sentence ends when no unfinished hypothesis can still enter its n best finished ones:
    log-probabilities only fall, so an unfinished one is worth at most its sum now over the largest penalty it can
    reach. At the limit (input length + extra_length, end symbol not counted) there are fewer than n if fewer have
    finished, and if none has, the best unfinished one, marked as cut.

    The numbers of a sentence depend on what shares its batch in the last bits of fp32, as matrix products do: another
    output comes of it only where two hypotheses score alike to six digits.

    Args:
        model: in evaluation mode.
        sources: ids of each sentence; all are searched as one batch, so give sentences of like length.
        settings: beam, form and exponent of the length penalty, extra length.
        n: at least 1; more than the beam are found less well than by a beam as wide.
    """
    device = model.embedding.device
    lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
    source_BS = torch.full((len(sources), int(lengths.max())), PAD, device=device)
    for row, source in enumerate(sources):
        source_BS[row, : len(source) + 1] = torch.tensor([*source, EOS], device=device)
    mask = padding_mask(lengths, source_BS.size(1))
    memory = model.encode(source_BS, mask)
    rows = torch.arange(len(sources), device=device).repeat_interleave(settings.beam)
    caches = model.start(memory)
    for cache in caches:
        cache.select(rows)
        cache.select_memory(rows)
    sentences = [_Sentence(len(source) + settings.extra_length, n) for source in sources]
    _search(model, settings, sentences, caches, mask.index_select(0, rows))
    return [sentence.finished or [sentence.unfinished] for sentence in sentences]


def _search(
    model: Transformer, settings: SearchSettings, sentences: list[_Sentence], caches: list[LayerCache], mask: Tensor
) -> None:
    """Leave in each sentence what was found."""
    beam, device = settings.beam, mask.device
    # All beams of a sentence begin alike: only the first may be extended at the first step.
    scores_BW = torch.full((len(sentences), beam), -math.inf, device=device)
    scores_BW[:, 0] = 0
    history = torch.full((len(sentences) * beam, 1), BOS, device=device)
    position = 0
    while sentences:
        logits = model.step(history[:, -1], position, caches, mask).float()
        logits[:, PAD] = logits[:, BOS] = -math.inf
        position += 1
        log_probabilities = logits.log_softmax(1).view(len(sentences), beam, -1)
        vocabulary = log_probabilities.size(2)
        totals = (scores_BW.unsqueeze(2) + log_probabilities).flatten(1)
        # Twice the beam: even if each beam's best is the end symbol, a full beam of unfinished ones remains.
        top_scores, top = totals.topk(min(2 * beam, totals.size(1)), dim=1)
        from_beam, ids = top // vocabulary, top % vocabulary
        ends = ids == EOS
        _keep_finished(sentences, top_scores, from_beam, _may_end(ends, settings), history, settings)
        # Unfinished candidates keep their order; the first `beam` of them go on.
        scores_BW, choice = top_scores.masked_fill(ends, -math.inf).topk(beam, dim=1)
        base = torch.arange(len(sentences), device=device).unsqueeze(1) * beam
        parents = (base + from_beam.gather(1, choice)).flatten()
        history = torch.cat([history.index_select(0, parents), ids.gather(1, choice).view(-1, 1)], dim=1)
        stay = _still_open(sentences, scores_BW, history, settings)
        if len(stay) < len(sentences):
            kept = torch.tensor(stay, dtype=torch.long, device=device)
            sentences, scores_BW = [sentences[i] for i in stay], scores_BW[kept]
            kept_rows = (kept.unsqueeze(1) * beam + torch.arange(beam, device=device)).flatten()
            parents, history, mask = parents[kept_rows], history[kept_rows], mask[kept_rows]
            for cache in caches:
                cache.select_memory(kept_rows)
        for cache in caches:
            cache.select(parents)


def _keep_finished(
    sentences: list[_Sentence],
    scores: Tensor,
    from_beam: Tensor,
    ends: Tensor,
    history: Tensor,
    settings: SearchSettings,
) -> None:
    """Candidates that end here enter a sentence's n best outputs if their penalised score is high enough."""
    penalty = length_penalty(history.size(1), settings)  # history begins with BOS: its size is |Y| with the end symbol
    for row, candidate in ends.nonzero().tolist():
        score = float(scores[row, candidate]) / penalty
        if score > sentences[row].to_beat:
            output = history[row * settings.beam + int(from_beam[row, candidate]), 1:].tolist()
            sentences[row].finish(Hypothesis(output, score))


def _still_open(sentences: list[_Sentence], scores_BW: Tensor, history: Tensor, settings: SearchSettings) -> list[int]:
    """Rows of the sentences that go on."""
    stay = []
    length = history.size(1) - 1
    for row, (sentence, score) in enumerate(zip(sentences, scores_BW[:, 0].tolist(), strict=True)):
        if length > sentence.limit:  # only the end symbol could have followed the last token allowed
            continue
        if length == sentence.limit and not sentence.finished:
            ids = history[row * settings.beam, 1:].tolist()
            sentence.unfinished = Hypothesis(ids, score / length_penalty(length, settings), cut=True)
        if score / length_penalty(sentence.limit + 1, settings) > sentence.to_beat:
            stay.append(row)
    return stay


def _may_end(ends: Tensor, settings: SearchSettings) -> Tensor:
    """Those of the end symbols among the candidates, [B, 2 * W], with which an output may finish."""
    if not settings.ends_within_beam:
        return ends
    return ends & (torch.arange(ends.size(1), device=ends.device) < settings.beam)
