"""Beam search as in section 6.1: batched over sentences, with key/value caches; finished sentences leave the batch.

Shape suffixes (transformer/__init__.py): B sentences still searched, W hypotheses of each, S source positions, T output
positions, E entries of the caches, C candidates, R hypotheses of all sentences that may go on, D d_model, V vocabulary.
"""

import math
from bisect import insort
from dataclasses import dataclass, field
from itertools import repeat
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.kv_cache import LayerCache, decode_step, new_caches
from transformer.model import Transformer, padding_mask
from transformer.settings import SearchSettings
from transformer.text.subwords import BOS, EOS, PAD

# PyTorch's softmax on a CPU takes 16 numbers at a time, and what is left of a row one by one, ten times as slowly.
LANES = 16
BLOCK = 64  # columns
COMPACT_AT = 64  # cache entries or more: then it is looked which of them hypotheses are still made of
# Scores of tokens are computed for so many hypotheses times vocabulary at once: as many as stay in a CPU's cache until
# all is done with them, and on a GPU as many as there is room for.
LOGITS_ON_CPU, LOGITS_ON_GPU = 2**19, 2**28


def length_penalty(length: int, settings: SearchSettings) -> float:
    """By what a sum of log-probabilities is divided; `length` is |Y|, the end symbol counted.

    ((5 + |Y|) / 6) ** alpha is that of Wu et al. 2016 (equation 14), to which section 6.1 refers; |Y| ** alpha is what
    other toolkits mean by the name, with alpha 1 the mean log-probability of a token. Both grow with the length.
    """
    base = (5 + length) / 6 if settings.penalty == "paper" else length
    return float(base**settings.length_penalty)


def length_limit(source: list[int], settings: SearchSettings) -> int:
    """So many tokens may an output for these source ids have, the end symbol not counted."""
    return len(source) + settings.extra_length


class Constraint(Protocol):
    """Says which tokens may follow the hypotheses of a batch; `parsing.well_formed.WellFormed` is one.

    At the start there is one hypothesis of each sentence, which has no token.
    """

    def allowed(self, open_R: Tensor) -> Tensor:
        """True at the tokens that may follow, [R, V]; `open_R` are places among the hypotheses of all sentences."""

    def extend(self, parents_BW: Tensor, ids_BW: Tensor) -> None:
        """Hypotheses are now these: those they extend, and by which token. What was given up may have any."""

    def select(self, sentences: Tensor) -> None:
        """Keep the given sentences."""


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
    model: Transformer,
    sources: list[list[int]],
    settings: SearchSettings,
    n: int,
    constraint: Constraint | None = None,
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
        constraint: for these sources; it forbids tokens and leaves the log-probabilities of the others as they are.
    """
    device = model.embedding.device
    lengths = torch.tensor([len(source) + 1 for source in sources], device=device)
    source_BS = torch.full((len(sources), _in_lanes(int(lengths.max()))), PAD, device=device)
    for row, source in enumerate(sources):
        source_BS[row, : len(source) + 1] = torch.tensor([*source, EOS], device=device)
    mask = padding_mask(lengths, source_BS.size(1))
    caches = new_caches(model, model.run_encoder(source_BS, mask))
    sentences = [_Sentence(length_limit(source, settings), n) for source in sources]
    _search(model, settings, sentences, caches, mask, constraint)
    return [sentence.finished or [sentence.unfinished] for sentence in sentences]


def _in_lanes(length: int) -> int:
    """The next multiple of LANES."""
    return -(-length // LANES) * LANES


class _Beams:
    """The unfinished hypotheses of all sentences, best first: one of each at the start, then as many as the beam.

    Args:
        sentences: their number.
        device: of the model.
    """

    def __init__(self, sentences: int, device: torch.device) -> None:
        self.scores_BW = torch.zeros((sentences, 1), device=device)
        self.ids_BWT = torch.full((sentences, 1, 1), BOS, device=device)
        self.ancestors_BWE = torch.zeros((sentences, 1, 0), dtype=torch.bool, device=device)
        self._entries, self._compact_at = 0, COMPACT_AT

    def __len__(self) -> int:
        return self.scores_BW.size(1)

    @property
    def length(self) -> int:
        """Of each hypothesis, the begin symbol not counted."""
        return self.ids_BWT.size(2) - 1

    def step(self, model: Transformer, caches: list[LayerCache], mask: Tensor) -> Tensor:
        """The decoder's output for the last token of each, [B, W, D]."""
        if self._entries >= self._compact_at:
            self._compact(caches)
        entries = self._entries + len(self)
        self.ancestors_BWE = F.pad(self.ancestors_BWE, (0, _in_lanes(entries) - self.ancestors_BWE.size(2)))
        self.ancestors_BWE[:, :, self._entries : entries] = torch.eye(len(self), dtype=torch.bool, device=mask.device)
        self._entries = entries
        return decode_step(model, self.ids_BWT[:, :, -1], self.length, caches, mask, self.ancestors_BWE)

    def _compact(self, caches: list[LayerCache]) -> None:
        """Forget entries that no hypothesis descends from: most, since those of a sentence begin alike."""
        needed_BE = self.ancestors_BWE.any(1)
        self._entries = int(needed_BE.sum(1).max())
        self._compact_at = max(COMPACT_AT, 2 * self._entries)
        order_BE = needed_BE.byte().argsort(dim=1, descending=True, stable=True)[:, : _in_lanes(self._entries)]
        self.ancestors_BWE = self.ancestors_BWE.gather(2, order_BE.unsqueeze(1).expand(-1, len(self), -1))
        for cache in caches:
            cache.select_entries(order_BE, self._entries)

    def extend(self, scores_BW: Tensor, parents_BW: Tensor, ids_BW: Tensor) -> None:
        """Go on with these: sums of log-probabilities, hypotheses that they extend, and by which token."""
        index = parents_BW.unsqueeze(2)
        ids_BWT = self.ids_BWT.gather(1, index.expand(-1, -1, self.ids_BWT.size(2)))
        self.ids_BWT = torch.cat([ids_BWT, ids_BW.unsqueeze(2)], dim=2)
        self.ancestors_BWE = self.ancestors_BWE.gather(1, index.expand(-1, -1, self.ancestors_BWE.size(2)))
        self.scores_BW = scores_BW

    def select(self, sentences: Tensor) -> None:
        """Keep the given sentences."""
        self.scores_BW, self.ids_BWT = self.scores_BW[sentences], self.ids_BWT[sentences]
        self.ancestors_BWE = self.ancestors_BWE[sentences]


def _search(
    model: Transformer,
    settings: SearchSettings,
    sentences: list[_Sentence],
    caches: list[LayerCache],
    mask: Tensor,
    constraint: Constraint | None,
) -> None:
    """Leave in each sentence what was found."""
    beams = _Beams(len(sentences), mask.device)
    while sentences:
        y_BWD = beams.step(model, caches, mask)
        # Twice the beam: even if each hypothesis is best ended, a full beam of unfinished ones remains.
        totals_BC, parents_BC, ids_BC = _candidates(model, y_BWD, beams.scores_BW, 2 * settings.beam, constraint)
        ends_BC = ids_BC == EOS
        _keep_finished(sentences, beams, totals_BC, parents_BC, _may_end(ends_BC, settings), settings)
        # Unfinished candidates keep their order; the first `beam` of them go on.
        width = min(settings.beam, totals_BC.size(1))
        scores_BW, choice_BW = totals_BC.masked_fill(ends_BC, -math.inf).topk(width, dim=1)
        parents_BW, ids_BW = parents_BC.gather(1, choice_BW), ids_BC.gather(1, choice_BW)
        beams.extend(scores_BW, parents_BW, ids_BW)
        if constraint:
            constraint.extend(parents_BW, ids_BW)
        stay = _prune(sentences, beams, settings)
        if len(stay) < len(sentences):
            sentences = [sentences[i] for i in stay]
            kept = torch.tensor(stay, dtype=torch.long, device=mask.device)
            beams.select(kept)
            if constraint:
                constraint.select(kept)
            mask = mask[kept]
            for cache in caches:
                cache.select(kept)


def _candidates(
    model: Transformer, y_BWD: Tensor, scores_BW: Tensor, number: int, constraint: Constraint | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The best extensions of all hypotheses of a sentence, best first.

    Sums of log-probabilities, hypotheses and tokens, each [B, C]; so many, or all there are. Hypotheses with a score of
    minus infinity are passed over.
    """
    open_R = scores_BW.flatten().isfinite().nonzero().squeeze(1)
    allowed_RV = constraint.allowed(open_R) if constraint else None
    log_probabilities_RC, ids_RC = _best_tokens(model, y_BWD.flatten(0, 1)[open_R], number, allowed_RV)
    shape = (scores_BW.numel(), ids_RC.size(1))
    totals = torch.full(shape, -math.inf, device=y_BWD.device)
    totals[open_R] = scores_BW.view(-1, 1)[open_R] + log_probabilities_RC
    ids = torch.full(shape, PAD, device=y_BWD.device)
    ids[open_R] = ids_RC
    totals, ids = totals.view(len(y_BWD), -1), ids.view(len(y_BWD), -1)
    totals_BC, places_BC = totals.topk(min(number, totals.size(1)), dim=1)
    return totals_BC, places_BC // shape[1], ids.gather(1, places_BC)


def _best_tokens(model: Transformer, y_RD: Tensor, number: int, allowed_RV: Tensor | None) -> tuple[Tensor, Tensor]:
    """The likeliest next tokens of each row, best first: log-probabilities and ids, [R, C]; as many, or all.

    Tokens that are not allowed have minus infinity.
    """
    rows = max(1, (LOGITS_ON_GPU if y_RD.is_cuda else LOGITS_ON_CPU) // model.embedding.size(0))
    parts = []
    masks = repeat(None) if allowed_RV is None else allowed_RV.split(rows)
    for part_RD, mask_RV in zip(y_RD.split(rows), masks, strict=False):
        logits = model.logits(part_RD)
        logits[:, PAD] = logits[:, BOS] = -math.inf
        log_probabilities = logits.log_softmax(1, dtype=torch.float32)
        if mask_RV is not None:
            log_probabilities.masked_fill_(~mask_RV, -math.inf)
        parts.append(_top(log_probabilities, min(number, logits.size(1))))
    values, ids = zip(*parts, strict=True)
    return torch.cat(values), torch.cat(ids)


def _top(values: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """What `values.topk(number, dim=1)` gives, by way of the largest of each block of columns.

    On a CPU topk first makes pairs of all values and their columns: for 10,000 columns this takes half the time.
    """
    blocks = values.size(1) // BLOCK
    if blocks <= number:
        top = values.topk(number, dim=1)
        return top.values, top.indices
    blocked = values[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    best = blocked.amax(2).topk(number, dim=1, sorted=False).indices.unsqueeze(2)
    columns = (best * BLOCK + torch.arange(BLOCK, device=values.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, values.size(1), device=values.device).expand(len(values), -1)
    columns = torch.cat([columns, rest], dim=1)
    top = values.gather(1, columns).topk(number, dim=1)
    return top.values, columns.gather(1, top.indices)


def _keep_finished(
    sentences: list[_Sentence],
    beams: _Beams,
    totals_BC: Tensor,
    parents_BC: Tensor,
    ends_BC: Tensor,
    settings: SearchSettings,
) -> None:
    """Candidates that end here enter a sentence's n best outputs if their penalised score is high enough."""
    penalty = length_penalty(beams.length + 1, settings)
    ends = zip(ends_BC.nonzero()[:, 0].tolist(), totals_BC[ends_BC].tolist(), parents_BC[ends_BC].tolist(), strict=True)
    for row, total, parent in ends:
        if total / penalty > sentences[row].to_beat:
            sentences[row].finish(Hypothesis(beams.ids_BWT[row, parent, 1:].tolist(), total / penalty))


def _prune(sentences: list[_Sentence], beams: _Beams, settings: SearchSettings) -> list[int]:
    """Give minus infinity to hypotheses that cannot become one of the n best; return the sentences with others.

    At one length those are the worst of a sentence: without them, what enters the beam instead is worse still.
    """
    for row, (sentence, total) in enumerate(zip(sentences, beams.scores_BW[:, 0].tolist(), strict=True)):
        if beams.length == sentence.limit and not sentence.finished:
            score = total / length_penalty(beams.length, settings)
            sentence.unfinished = Hypothesis(beams.ids_BWT[row, 0, 1:].tolist(), score, cut=True)
    to_beat = torch.tensor(
        [
            sentence.to_beat * length_penalty(sentence.limit + 1, settings)
            # After the last token allowed only the end symbol could have followed.
            if beams.length <= sentence.limit
            else math.inf
            for sentence in sentences
        ],
        device=beams.scores_BW.device,
    )
    hopeless_BW = beams.scores_BW <= to_beat.unsqueeze(1)
    beams.scores_BW.masked_fill_(hopeless_BW, -math.inf)
    return (~hopeless_BW).any(1).nonzero().squeeze(1).tolist()


def _may_end(ends: Tensor, settings: SearchSettings) -> Tensor:
    """Those of the end symbols among the candidates, [B, 2 * W], with which an output may finish."""
    if not settings.ends_within_beam:
        return ends
    return ends & (torch.arange(ends.size(1), device=ends.device) < settings.beam)
