"""Our layers by the names that fairseq gave them and transformers took over."""

from typing import Any

import torch
from torch import Tensor, nn

from transformer.model import LAYER_NORM_EPSILON, Attention, Transformer


def layer_weights(ours: Transformer, prefix: str) -> dict[str, Tensor]:
    """All weights but embeddings and positions, as `PREFIXencoder.layers.0.fc1.weight`."""
    weights: dict[str, Tensor] = {}
    for stack, layers in (("encoder", ours.encoder), ("decoder", ours.decoder)):
        for number, layer in enumerate(layers):
            for part, module in _parts(layer).items():
                named = _parameters_of_attention(module) if isinstance(module, Attention) else module.state_dict()
                weights |= {f"{prefix}{stack}.layers.{number}.{part}.{name}": value for name, value in named.items()}
    return weights


def _parts(layer: Any) -> dict[str, nn.Module]:
    parts = {
        "self_attn": layer.attention,
        "self_attn_layer_norm": layer.attention_residual.norm,
        "fc1": layer.feed_forward.inner,
        "fc2": layer.feed_forward.outer,
        "final_layer_norm": layer.feed_forward_residual.norm,
    }
    if hasattr(layer, "cross_attention"):
        parts["encoder_attn"] = layer.cross_attention
        parts["encoder_attn_layer_norm"] = layer.cross_attention_residual.norm
    return parts


def _parameters_of_attention(attention: Attention) -> dict[str, Tensor]:
    """Queries, keys and values apart, with biases of zero: the paper has none."""
    q, k, v = attention.projections.detach().split(attention.sizes)
    matrices = {"q_proj": q, "k_proj": k, "v_proj": v, "out_proj": attention.output.weight.detach()}
    weights = {f"{name}.weight": matrix for name, matrix in matrices.items()}
    return weights | {f"{name}.bias": torch.zeros(len(matrix)) for name, matrix in matrices.items()}


def set_epsilon(model: nn.Module) -> None:
    """Give all layer normalisations our epsilon."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = LAYER_NORM_EPSILON
