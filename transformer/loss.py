"""Label-smoothed cross-entropy over a shared vocabulary, in pieces that never hold all logits at once.

Shape suffixes (transformer/__init__.py): N target tokens (padding left out), D d_model, V vocabulary.
"""

import math
from typing import Any

import torch
from torch import Tensor

# Logits held at a time: on a CPU a piece should stay near the cache, a GPU wants large products.
LOGITS_AT_ONCE = {"cpu": 2**22, "cuda": 2**27}


class _ChunkedLoss(torch.autograd.Function):
    """The gradient is formed in the forward pass, piece by piece, while the logits are at hand."""

    @staticmethod
    def forward(
        ctx: Any, y_ND: Tensor, embedding_VD: Tensor, gold_N: Tensor, smoothing: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        vocabulary = embedding_VD.size(0)
        other = smoothing / (vocabulary - 1)
        weights_VD = embedding_VD.to(dtype)
        wanted = any(ctx.needs_input_grad[:2])
        y_gradient = torch.empty_like(y_ND) if wanted else None
        embedding_gradient = torch.zeros_like(embedding_VD) if wanted else None
        loss = y_ND.new_zeros((), dtype=torch.float32)
        nll = y_ND.new_zeros((), dtype=torch.float32)
        size = max(1, LOGITS_AT_ONCE[y_ND.device.type] // vocabulary)
        for start in range(0, y_ND.size(0), size):
            y = y_ND[start : start + size].to(dtype)
            gold = gold_N[start : start + size].unsqueeze(1)
            logits = (y @ weights_VD.T).float()
            gold_logit = logits.gather(1, gold)
            all_logits = logits.sum() if smoothing else logits.new_zeros(())
            largest = logits.amax(1, keepdim=True)
            exponentials = logits.sub_(largest).exp_()
            partition = exponentials.sum(1, keepdim=True)
            normaliser = partition.log() + largest
            gold_nll = (normaliser - gold_logit).sum()
            nll += gold_nll
            loss += (1 - smoothing - other) * gold_nll + other * (vocabulary * normaliser.sum() - all_logits)
            if y_gradient is not None and embedding_gradient is not None:
                # d loss / d logits = softmax - smoothed distribution of the gold sub-word
                gradient = exponentials.div_(partition).sub_(other)
                gradient.scatter_add_(1, gold, torch.full_like(gold_logit, -(1 - smoothing - other)))
                gradient = gradient.to(dtype)
                y_gradient[start : start + size] = gradient @ weights_VD
                embedding_gradient += gradient.T @ y
        ctx.save_for_backward(y_gradient, embedding_gradient)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        y_gradient, embedding_gradient = ctx.saved_tensors
        return y_gradient * gradients[0], embedding_gradient * gradients[0], None, None, None


def smoothed_loss(
    y_ND: Tensor, embedding_VD: Tensor, gold_N: Tensor, label_smoothing: float, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Label-smoothed cross-entropy (section 5.4) and plain negative log-likelihood, both sums over N, in nats.

    The gold sub-word has probability 1 - label_smoothing, every other one label_smoothing / (V - 1), as in the
    released code. Only the first sum carries a gradient. Padding must be left out of the N tokens by the caller, so
    it adds exactly nothing.

    Args:
        y_ND: the decoder's output at the N positions.
        embedding_VD: the shared embedding, the pre-softmax projection.
        gold_N: the right sub-words.
        label_smoothing: epsilon_ls.
        dtype: the type of the three matrix products; sums are in fp32.
    """
    with torch.autocast(y_ND.device.type, enabled=False):
        loss, nll = _ChunkedLoss.apply(y_ND, embedding_VD, gold_N, label_smoothing, dtype)
    return loss, nll


def perplexity_of(nll: float) -> float:
    """Perplexity from nats per token; infinite where no float holds it, from 710 nats on."""
    try:
        return math.exp(nll)
    except OverflowError:
        return math.inf
