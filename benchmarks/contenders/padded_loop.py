"""The loop that torch.nn.Transformer and MarianMTModel share: padded batches of like lengths, Adam, cross-entropy."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.contenders.job import BOS, EOS, PAD, Job, Stopwatch, device


def train(job: Job, watch: Stopwatch, model: nn.Module, logits: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Train `model` until the watch has enough.

    `logits` gives scores [B, T, V] for source [B, S] and target input [B, T], both padded behind the sentence.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()
    for step, (source, target) in enumerate(batches(job), start=1):
        optimizer.param_groups[0]["lr"] = job.d_model**-0.5 * min(step**-0.5, step * job.warmup**-1.5)
        counts = real_and_all(source), real_and_all(target[:, 1:])  # before a GPU would have to be waited for
        source, target = source.to(device()), target.to(device())
        gold = target[:, 1:].contiguous()
        with job.autocast():
            scores = logits(source, target[:, :-1])
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1), gold.flatten(), ignore_index=PAD, label_smoothing=job.label_smoothing
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.lap(*counts)


def real_and_all(ids: Tensor) -> tuple[int, int]:
    """Tokens that are no padding, and positions."""
    return int((ids != PAD).sum()), ids.numel()


def batches(job: Job) -> Iterator[tuple[Tensor, Tensor]]:
    """Sources [B, S], each with its end, and targets [B, 1 + T] from begin to end, for ever.

    Sentences are sorted by target length; a batch has rows x longest target <= tokens. Their order is random.
    """
    sources, targets = job.sentences("source"), job.sentences("target")
    random = np.random.default_rng(1)
    order = sorted(random.permutation(len(targets)), key=lambda i: len(targets[i]))
    batches: list[list[int]] = [[]]
    for i in order:
        if (len(batches[-1]) + 1) * (len(targets[i]) + 1) > job.tokens and batches[-1]:
            batches.append([])
        batches[-1].append(i)
    for _ in itertools.count():
        for number in random.permutation(len(batches)):
            yield (
                padded([[*sources[i], EOS] for i in batches[number]]),
                padded([[BOS, *targets[i], EOS] for i in batches[number]]),
            )


def padded(rows: list[list[int]]) -> Tensor:
    """The rows as one tensor."""
    tensors = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
