"""Token batches of sentences of similar length (section 5.1), planned for a whole epoch.

The plan is a function of (seed, epoch, lengths) alone; ranks and accumulation only divide each batch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.model import padding_mask
from transformer.shards import Pairs
from transformer.subwords import BOS, EOS, PAD

LONGEST = np.uint16(2**16 - 1)  # tokens of a sentence


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors. Shapes: B sentences, S and T positions; padding is behind the sentence."""

    source_BS: Tensor
    target_BT: Tensor  # begins with BOS: what the decoder sees
    gold_BT: Tensor  # ends with EOS: what it must say
    mask: Tensor | None  # of the source, for attention; None where nothing is padded
    source_tokens: int  # real ones, end symbols included
    target_tokens: int

    @property
    def real(self) -> Tensor:
        """True at target positions that are no padding, [B, T]."""
        return self.gold_BT != PAD

    def to(self, device: torch.device) -> "Batch":
        """The same on another device; a copy to a GPU does not wait for what that still computes."""

        def move(tensor: Tensor) -> Tensor:
            # Only from pinned memory does a copy go on by itself.
            return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)

        mask = None if self.mask is None else move(self.mask)
        tensors = move(self.source_BS), move(self.target_BT), move(self.gold_BT), mask
        return Batch(*tensors, self.source_tokens, self.target_tokens)


def plan_epoch(
    source_lengths: NDArray[np.integer], target_lengths: NDArray[np.integer], tokens: int, seed: int, epoch: int
) -> list[NDArray[np.int32]]:
    """The batches of one epoch, each the indices of its pairs; every pair is in exactly one.

    A batch holds about `tokens` source and `tokens` target tokens, as the paper counts them: without padding, twice
    `tokens` on both sides together. All batches of an epoch are of that size, to a pair. Pairs of like lengths come
    together in a random order, and the batches in a random order too.

    Args:
        source_lengths: sub-words of each source, the end symbol included.
        target_lengths: the same for the targets.
        tokens: the size of a batch, for each side.
        seed: of the training.
        epoch: counted from 0.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(np.arange(len(source_lengths), dtype=np.int32))
    # NumPy sorts numbers of 16 bits by radix: tens of millions of pairs take seconds.
    source, target = (lengths[shuffled].astype(np.uint16) for lengths in (source_lengths, target_lengths))
    # Sources rise for one target length and fall for the next, so that a batch across both holds like ones.
    order = shuffled[np.lexsort((np.where(target % 2, LONGEST - source, source), target))]
    tokens_until = np.cumsum(source_lengths[order], dtype=np.int64) + np.cumsum(target_lengths[order], dtype=np.int64)
    batches = _cut(order, tokens_until, max(1, round(tokens_until[-1] / (2 * tokens))))
    batches = [batch for batch in batches if len(batch)]
    return [batches[i] for i in random.permutation(len(batches))]


def divide(
    batch: NDArray[np.int32],
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    ranks: int,
    tokens_per_device: int,
) -> list[NDArray[np.int32]]:
    """The batch in parts of like size, the same number for each rank, each small enough for a device.

    A part has rows x longest <= tokens_per_device on both sides, padding counted (a longer pair stands alone). Rank
    r takes the parts r, r + ranks, ...; of a small batch some may be empty.
    """
    lengths = np.stack([source_lengths[batch], target_lengths[batch]]).astype(np.int64)
    tokens_until = lengths.sum(0).cumsum()
    count = ranks * -(-int(lengths.sum(1).max()) // (tokens_per_device * ranks))
    while True:
        parts = _cut(np.arange(len(batch)), tokens_until, count)
        if all(len(part) <= 1 or len(part) * lengths[:, part].max() <= tokens_per_device for part in parts):
            return [batch[part] for part in parts]
        count += ranks


def _cut(items: NDArray[Any], tokens_until: NDArray[np.int64], count: int) -> list[NDArray[Any]]:
    """`count` runs of items of like numbers of tokens."""
    ends = tokens_until[-1] * np.arange(1, count) // count
    return np.split(items, np.searchsorted(tokens_until, ends, side="right"))


def collate(pairs: Pairs, indices: NDArray[np.integer]) -> Batch:
    """The pairs of these indices as one padded batch."""
    sources = [pairs.source(i) for i in indices]
    targets = [pairs.target(i) for i in indices]
    source_lengths = np.array([len(source) + 1 for source in sources])
    target_lengths = np.array([len(target) + 1 for target in targets])
    source_BS = np.full((len(indices), source_lengths.max()), PAD, dtype=np.int64)
    target_BT = np.full((len(indices), target_lengths.max()), PAD, dtype=np.int64)
    gold_BT = target_BT.copy()
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        source_BS[row, : len(source)] = source
        source_BS[row, len(source)] = EOS
        target_BT[row, 0] = BOS
        target_BT[row, 1 : len(target) + 1] = target
        gold_BT[row, : len(target)] = target
        gold_BT[row, len(target)] = EOS
    padded = source_lengths.min() < source_lengths.max()
    mask = padding_mask(torch.from_numpy(source_lengths), source_BS.shape[1]) if padded else None
    tensors = torch.from_numpy(source_BS), torch.from_numpy(target_BT), torch.from_numpy(gold_BT), mask
    return Batch(*tensors, int(source_lengths.sum()), int(target_lengths.sum()))
