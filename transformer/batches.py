"""Token batches of sentences of similar length (section 5.1), planned for a whole epoch.

The plan is a function of (seed, epoch, lengths) alone; ranks and accumulation only divide each batch.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.model import padding_mask
from transformer.shards import Pairs
from transformer.subwords import BOS, EOS, PAD


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as tensors. Shapes: B sentences, S and T positions; padding is behind the sentence."""

    source_BS: Tensor
    target_BT: Tensor  # begins with BOS: what the decoder sees
    gold_BT: Tensor  # ends with EOS: what it must say
    mask: Tensor | None  # of the source, for attention; None where nothing is padded
    target_tokens: int  # real ones, end symbols included

    @property
    def real(self) -> Tensor:
        """True at target positions that are no padding, [B, T]."""
        return self.gold_BT != PAD

    def to(self, device: torch.device) -> "Batch":
        """The same on another device."""
        move = partial(Tensor.to, device=device, non_blocking=True)
        mask = None if self.mask is None else move(self.mask)
        return Batch(move(self.source_BS), move(self.target_BT), move(self.gold_BT), mask, self.target_tokens)


def plan_epoch(
    source_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32], tokens: int, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """The batches of one epoch, each the indices of its pairs; every pair is in exactly one.

    A batch has rows x longest <= tokens on both sides, padding counted (one pair longer than that stands alone).
    Pairs of like lengths come together in a random order, and the batches in a random order too.

    Args:
        source_lengths: sub-words of each source, the end symbol included.
        target_lengths: the same for the targets.
        tokens: the size of a batch, for each side.
        seed: of the training.
        epoch: counted from 0.
    """
    random = np.random.default_rng([seed, epoch])
    shuffled = random.permutation(len(source_lengths))
    order = shuffled[np.lexsort((source_lengths[shuffled], target_lengths[shuffled]))]
    longest_first = np.maximum(source_lengths, target_lengths)[order]
    batches = []
    start = longest = 0
    for end, length in enumerate(longest_first.tolist()):
        longest = max(longest, length)
        if (end + 1 - start) * longest > tokens and end > start:
            batches.append(order[start:end])
            start, longest = end, length
    batches.append(order[start:])
    return [batches[i] for i in random.permutation(len(batches))]


def pieces(batch: NDArray[np.int64], ranks: int, rank: int, accumulation: int) -> list[NDArray[np.int64]]:
    """The rank's share of a batch, in `accumulation` pieces of like size; a small batch may leave some empty."""
    return [batch[rank * accumulation + i :: ranks * accumulation] for i in range(accumulation)]


def collate(pairs: Pairs, indices: NDArray[np.int64]) -> Batch:
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
    tensor = torch.from_numpy
    return Batch(tensor(source_BS), tensor(target_BT), tensor(gold_BT), mask, int(target_lengths.sum()))
