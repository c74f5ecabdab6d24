"""The weights of attentions of a model, recorded while it runs: what the paper's Figures 3 to 5 show.

Shape suffixes (transformer/__init__.py): B sentences, H heads, T queries, S keys, D d_model.
"""

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

from transformer import model as paper
from transformer.model import Attention, Transformer


@torch.inference_mode()
def attention_weights(
    model: Transformer, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None = None
) -> dict[str, Tensor]:
    """Weights [B, H, T, S] of each attention by its name: `encoder.0.attention`, `decoder.0.cross_attention`, ...

    Arguments as in `Transformer.forward`, which is run; a row sums to 1.
    """
    names = [name for name, module in model.named_modules() if isinstance(module, Attention)]
    return _recorded(model, names, source_BS, target_BT, mask)


@torch.inference_mode()
def alignment(model: Transformer, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None = None) -> Tensor:
    """Where a model looks in the source for what follows each of the target ids: [B, T, S].

    The weights of the last decoder layer's attention to the source, mean of its heads; a row sums to 1. Arguments as in
    `Transformer.forward`. No hook is set: other threads may use the model meanwhile.
    """
    memory_BSD, y_BTD = model.run_encoder(source_BS, mask), model.embed(target_BT)
    *earlier, last = model.decoder
    for layer in earlier:
        y_BTD = layer(y_BTD, memory_BSD, mask)
    y_BTD = last.attention_residual(y_BTD, lambda x: last.attention(x, causal=True))
    weights: list[Tensor] = []

    def look(x_BTD: Tensor) -> Tensor:
        weights.append(_weights(last.cross_attention, x_BTD, memory_BSD, mask))
        return x_BTD

    last.cross_attention_residual(y_BTD, look)
    return weights[0].mean(1)


def _recorded(model: Transformer, names: Collection[str], *arguments: Tensor | None) -> dict[str, Tensor]:
    """Run a model, which no other thread may use meanwhile; the weights of the attentions with these names."""
    weights: dict[str, Tensor] = {}

    def recorder(name: str) -> Callable[..., None]:
        def record(module: Attention, given: Any, named: Any, output: Tensor) -> None:
            weights[name] = _weights(module, *given, **named)

        return record

    handles = [model.get_submodule(name).register_forward_hook(recorder(name), with_kwargs=True) for name in names]
    try:
        model(*arguments)
    finally:
        for handle in handles:
            handle.remove()
    return weights


def _weights(
    attention: Attention,
    x_BTD: Tensor,
    memory_BSD: Tensor | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Arguments as in `Attention.forward`."""
    q_BHTK, k_BHSK, _ = attention.project(x_BTD, memory_BSD)
    return paper.attention_weights(q_BHTK.float(), k_BHSK.float(), mask, causal)
