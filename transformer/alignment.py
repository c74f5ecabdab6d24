"""Where a model looks in the source for each piece of its output.

Shape suffixes (transformer/__init__.py): B sentences, H heads, T queries, S keys, D d_model.
"""

import torch
from torch import Tensor

from transformer.model import Attention, Transformer, attention_weights


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
        weights.append(weights_of(last.cross_attention, x_BTD, memory_BSD, mask))
        return x_BTD

    last.cross_attention_residual(y_BTD, look)
    return weights[0].mean(1)


def weights_of(
    attention: Attention,
    x_BTD: Tensor,
    memory_BSD: Tensor | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """The weights [B, H, T, S] with which an attention takes its values; arguments as in `Attention.forward`."""
    q_BHTK, k_BHSK, _ = attention.project(x_BTD, memory_BSD)
    return attention_weights(q_BHTK.float(), k_BHSK.float(), mask, causal)
