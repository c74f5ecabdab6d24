"""Token batches of sentences of similar length (section 5.1), planned for a whole epoch.

The plan is a function of (seed, epoch, lengths) alone; ranks and accumulation only divide each batch.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.io.shards import Pairs
from transformer.text.subwords import BOS, EOS, PAD

LONGEST = np.uint16(2**16 - 1)  # tokens of a sentence


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors. Shapes: B sentences, S and T positions; padding is behind the sentence."""

    source_BS: Tensor
    target_BT: Tensor  # begins with BOS: what the decoder sees
    gold_N: Tensor  # what it must say at its N real positions, EOS at the end of each sentence
    positions_N: Tensor  # where those are among all B x T
    mask: Tensor | None  # of the source, for attention; None where nothing is padded
    source_tokens: int  # real ones, end symbols included
    target_tokens: int

    def to(self, device: torch.device) -> "Batch":
        """The same on another device; a copy to a GPU does not wait for what that still computes."""

        def move(tensor: Tensor) -> Tensor:
            # Only from pinned memory does a copy go on by itself.
            return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)

        return Batch(
            move(self.source_BS),
            move(self.target_BT),
            move(self.gold_N),
            move(self.positions_N),
            None if self.mask is None else move(self.mask),
            self.source_tokens,
            self.target_tokens,
        )


def plan_epoch(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    tokens: int,
    seed: int,
    epoch: int,
    lengths: int = 1,
) -> list[NDArray[np.int32]]:
    """The batches of one epoch, each the indices of its pairs; every pair is in exactly one.

    A batch holds about `tokens` source and `tokens` target tokens, as the paper counts them: without padding, twice
    `tokens` on both sides together. All batches of an epoch are of that size, to a pair. Pairs of like lengths come
    together in a random order, and the batches in a random order too. Of several `lengths`, a batch is so many runs of
    like pairs, of the same size and drawn at random, shorter pairs first.

    Args:
        source_lengths: sub-words of each source, the end symbol included.
        target_lengths: the same for the targets.
        tokens: the size of a batch, for each side.
        seed: of the training.
        epoch: counted from 0.
        lengths: TrainingSettings.lengths_per_update.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(np.arange(len(source_lengths), dtype=np.int32))
    # NumPy sorts numbers of 16 bits by radix: tens of millions of pairs take seconds.
    source, target = (lengths[shuffled].astype(np.uint16) for lengths in (source_lengths, target_lengths))
    # Sources rise for one target length and fall for the next, so that a batch across both holds like ones.
    order = shuffled[np.lexsort((np.where(target % 2, LONGEST - source, source), target))]
    del shuffled, source, target  # at 36 million pairs each of these is 70 MB or more
    tokens_until = np.cumsum(source_lengths[order].astype(np.int32) + target_lengths[order], dtype=np.int64)
    batches = max(1, round(tokens_until[-1] / (2 * tokens)))
    runs = [run for run in _cut(order, tokens_until, batches * lengths) if len(run)]
    drawn = random.permutation(len(runs))
    return [
        np.concatenate([runs[i] for i in sorted(drawn[first : first + lengths])])
        for first in range(0, len(runs), lengths)
    ]


def divide(
    batch: NDArray[np.int32],
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    ranks: int,
    tokens_per_device: int,
    batch_lengths: int = 1,
) -> list[NDArray[np.int32]]:
    """The batch in parts of like size, the same number for each rank, each small enough for a device.

    A part has rows x longest <= tokens_per_device on both sides, padding counted (a longer pair stands alone). Rank
    r takes the parts r, r + ranks, ...; of a small batch some may be empty. The number of parts is a multiple of
    `batch_lengths`, so that pairs of two lengths share none: at most a short one comes to longer ones.
    """
    step = math.lcm(ranks, batch_lengths)
    lengths = np.stack([source_lengths[batch], target_lengths[batch]]).astype(np.int64)
    tokens_until = lengths.sum(0).cumsum()
    count = step * -(-int(lengths.sum(1).max()) // (tokens_per_device * step))
    while True:
        parts = _cut(np.arange(len(batch)), tokens_until, count)
        if all(len(part) <= 1 or len(part) * lengths[:, part].max() <= tokens_per_device for part in parts):
            return [batch[part] for part in parts]
        count += step


def in_parts(
    source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], tokens: int
) -> list[NDArray[np.int32]]:
    """All pairs once, pairs of like lengths together, in parts of at most `tokens` on either side, padding counted."""
    lengths = source_lengths, target_lengths
    plan = plan_epoch(*lengths, tokens, seed=0, epoch=0)
    return [part for batch in plan for part in divide(batch, *lengths, 1, tokens) if len(part)]


def _cut(items: NDArray[Any], tokens_until: NDArray[np.int64], count: int) -> list[NDArray[Any]]:
    """`count` runs of items of like numbers of tokens."""
    ends = tokens_until[-1] * np.arange(1, count) // count
    return np.split(items, np.searchsorted(tokens_until, ends, side="right"))


def collate(pairs: Pairs, indices: NDArray[np.integer]) -> Batch:
    """The pairs of these indices as one padded batch."""
    source_BS, source_real_BS = _padded(pairs.source_tokens, pairs.source_offsets, pairs.source_lengths, indices)
    gold_BT, real_BT = _padded(pairs.target_tokens, pairs.target_offsets, pairs.target_lengths, indices)
    target_BT = np.full_like(gold_BT, BOS)
    target_BT[:, 1:] = np.where(gold_BT == EOS, PAD, gold_BT)[:, :-1]
    return Batch(
        torch.from_numpy(source_BS),
        torch.from_numpy(target_BT),
        torch.from_numpy(gold_BT[real_BT]),
        torch.from_numpy(real_BT.ravel().nonzero()[0]),
        None if source_real_BS.all() else torch.from_numpy(source_real_BS)[:, None, None, :],
        int(source_real_BS.sum()),
        int(real_BT.sum()),
    )


def _padded(
    tokens: NDArray[np.integer], offsets: NDArray[np.integer], lengths: NDArray[np.integer], rows: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Sentences with EOS and padding behind them, [B, L], and where they are real, EOS included.

    Gathered in a few calls, not row by row: the thread that does this shares Python with the one that trains.
    """
    lengths_B = lengths[rows].astype(np.int64)
    real_BL = np.arange(lengths_B.max() + 1) <= lengths_B[:, None]
    ids_BL = np.full(real_BL.shape, PAD, dtype=np.int64)
    ends_B = lengths_B.cumsum()
    ids_BL[:, :-1][real_BL[:, 1:]] = tokens[
        np.repeat(offsets[rows] - (ends_B - lengths_B), lengths_B) + np.arange(ends_B[-1])
    ]
    ids_BL[np.arange(len(rows)), lengths_B] = EOS
    return ids_BL, real_BL
