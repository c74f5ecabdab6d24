"""The decoder one position at a time, for search: what it has computed of earlier positions is kept in caches.

Shape suffixes (transformer/__init__.py): B sentences still searched, W hypotheses of each, S source positions, E
entries of a cache, D d_model, H heads, K d_k or d_v.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from transformer.model import DecoderLayer, Transformer


@dataclass
class LayerCache:
    """What one decoder layer keeps: keys and values of the source, [B, H, S, K], and of all hypotheses, [B, H, E, K].

    Every position of every hypothesis has an entry, and stays there: which of the entries of its sentence a hypothesis
    descends from is said by a mask, so that nothing is copied when the beam changes.
    """

    cross_keys: Tensor
    cross_values: Tensor
    keys: Tensor
    values: Tensor
    used: int = 0

    def append(self, k_BHWK: Tensor, v_BHWK: Tensor, entries: int) -> None:
        """Fill the next entries; there is room for so many `entries` then."""
        if entries > self.keys.size(2):
            room = (0, 0, 0, entries - self.keys.size(2))
            self.keys, self.values = F.pad(self.keys, room), F.pad(self.values, room)
        new = slice(self.used, self.used + k_BHWK.size(2))
        self.keys[:, :, new], self.values[:, :, new] = k_BHWK, v_BHWK
        self.used = new.stop

    def select_entries(self, entries_BE: Tensor, used: int) -> None:
        """Keep the given entries of each sentence, in that order; so many of them are full."""
        index = entries_BE[:, None, :, None].expand(-1, self.keys.size(1), -1, -1)
        self.keys = self.keys.gather(2, index.expand(-1, -1, -1, self.keys.size(3)))
        self.values = self.values.gather(2, index.expand(-1, -1, -1, self.values.size(3)))
        self.used = used

    def select(self, sentences: Tensor) -> None:
        """Keep the given sentences of the batch, in that order."""
        for name in ("cross_keys", "cross_values", "keys", "values"):
            setattr(self, name, getattr(self, name).index_select(0, sentences))


def new_caches(model: Transformer, memory_BSD: Tensor) -> list[LayerCache]:
    """A cache for each decoder layer, of the encoder's output [B, S, D] and of no target position yet."""
    pairs = [layer.cross_attention.project_memory(memory_BSD) for layer in model.decoder]
    return [LayerCache(k, v, k[:, :, :0], v[:, :, :0]) for k, v in pairs]


def decode_step(
    model: Transformer,
    ids_BW: Tensor,
    position: int,
    caches: list[LayerCache],
    mask: Tensor | None,
    ancestors_BWE: Tensor,
) -> Tensor:
    """The decoder's output [B, W, D] for `ids_BW`, which W hypotheses of each sentence have at `position`.

    The caches grow by W entries; `ancestors_BWE` is True at the entries that a hypothesis is made of, these among them.
    What `Transformer.forward` computes for all positions at once.
    """
    y_BWD = model.embed(ids_BW.view(-1, 1), position).view(*ids_BW.shape, -1)
    for layer, cache in zip(model.decoder, caches, strict=True):
        y_BWD = _layer_step(layer, y_BWD, cache, mask, ancestors_BWE)
    return model.decoder_norm(y_BWD)


def _layer_step(
    layer: DecoderLayer, y_BWD: Tensor, cache: LayerCache, mask: Tensor | None, ancestors_BWE: Tensor
) -> Tensor:
    def self_attention(x_BWD: Tensor) -> Tensor:
        q, k, v = layer.attention.project(x_BWD)
        cache.append(k, v, ancestors_BWE.size(-1))
        return layer.attention.attend(q, cache.keys, cache.values, ancestors_BWE.unsqueeze(1))

    def cross_attention(x_BWD: Tensor) -> Tensor:
        query = layer.cross_attention.project_query(x_BWD)
        return layer.cross_attention.attend(query, cache.cross_keys, cache.cross_values, mask)

    y_BWD = layer.attention_residual(y_BWD, self_attention)
    y_BWD = layer.cross_attention_residual(y_BWD, cross_attention)
    return layer.feed_forward_residual(y_BWD, layer.feed_forward)
