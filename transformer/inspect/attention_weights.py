"""The weights of every attention of a model, recorded while it runs: what the paper's Figures 3 to 5 show.

Legend as in transformer/model.py: B sentences, H heads, T queries, S keys, K d_k.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from transformer.model import Attention, Transformer


@torch.inference_mode()
def attention_weights(
    model: Transformer, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None = None
) -> dict[str, Tensor]:
    """Weights [B, H, T, S] of each attention by its name: `encoder.0.attention`, `decoder.0.cross_attention`, ...

    Arguments as in `Transformer.forward`, which is run; a row sums to 1.
    """
    with _recorded(model) as weights:
        model(source_BS, target_BT, mask)
    return weights


@contextmanager
def _recorded(model: Transformer) -> Iterator[dict[str, Tensor]]:
    """While the block lasts, what each attention computes fills the dictionary."""
    weights: dict[str, Tensor] = {}
    modules = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    for name, module in modules.items():
        module.attend = _recorder(module.attend, name, weights)  # type: ignore[method-assign]
    try:
        yield weights
    finally:
        for module in modules.values():
            del module.attend


def _recorder(attend: Callable[..., Tensor], name: str, weights: dict[str, Tensor]) -> Callable[..., Tensor]:
    """`Attention.attend`, which itself keeps no weights: fused functions never have them."""

    def recording(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        weights[name] = _softmax(q, k, mask, causal)
        return attend(q, k, v, mask, causal)

    return recording


def _softmax(q_BHTK: Tensor, k_BHSK: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    scores_BHTS = q_BHTK.float() @ k_BHSK.float().transpose(-1, -2) / math.sqrt(q_BHTK.size(-1))
    if causal:
        later_TS = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool, device=scores_BHTS.device).triu(1)
        scores_BHTS = scores_BHTS.masked_fill(later_TS, -math.inf)
    if mask is not None:
        scores_BHTS = scores_BHTS.masked_fill(~mask, -math.inf)
    return scores_BHTS.softmax(-1)
