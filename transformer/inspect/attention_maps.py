"""The weights of attentions of a model, recorded while it runs: what the paper's Figures 3 to 5 show.

Shape suffixes (transformer/__init__.py): B sentences, H heads, T queries, S keys, D d_model.
"""

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor

from transformer.alignment import weights_of
from transformer.model import Attention, Transformer


@torch.inference_mode()
def attention_maps(
    model: Transformer, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None = None
) -> dict[str, Tensor]:
    """Weights [B, H, T, S] of each attention by its name: `encoder.0.attention`, `decoder.0.cross_attention`, ...

    Arguments as in `Transformer.forward`, which is run; a row sums to 1.
    """
    names = [name for name, module in model.named_modules() if isinstance(module, Attention)]
    return _recorded(model, names, source_BS, target_BT, mask)


def _recorded(model: Transformer, names: Collection[str], *arguments: Tensor | None) -> dict[str, Tensor]:
    """Run a model, which no other thread may use meanwhile; the weights of the attentions with these names."""
    weights: dict[str, Tensor] = {}

    def recorder(name: str) -> Callable[..., None]:
        def record(module: Attention, given: Any, named: Any, output: Tensor) -> None:
            weights[name] = weights_of(module, *given, **named)

        return record

    handles = [model.get_submodule(name).register_forward_hook(recorder(name), with_kwargs=True) for name in names]
    try:
        model(*arguments)
    finally:
        for handle in handles:
            handle.remove()
    return weights
