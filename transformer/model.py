"""The model of "Attention Is All You Need", section 3: an encoder and a decoder of attention and feed-forward layers.

Shape suffixes, as in all of this library (transformer/__init__.py): B sentences, S source positions, T target
positions, D d_model, H heads, K d_k or d_v, J those of all heads side by side, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.dropout import Dropout
from transformer.io.errors import InputError
from transformer.settings import ModelSettings

# The paper gives no epsilon for its layer normalisation; 1e-6 is that of the first released code.
LAYER_NORM_EPSILON = 1e-6
# Nor the size of its table of learned positions (Table 3, row E). Longer sentences are an error with such a table.
LEARNED_POSITIONS = 1024


def sinusoids(length: int, d_model: int) -> Tensor:
    """Positional encodings (section 3.5): sine in even and cosine in odd dimensions, [length, d_model].

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same angle.
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    angle = position * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def concatenated_sinusoids(length: int, d_model: int) -> Tensor:
    """Positions as in the released code (tensor2tensor): sines in the first half of the dimensions, cosines behind.

    Its wavelengths run from 2 pi to 10000 * 2 pi with both ends included: exponent i / (d_model / 2 - 1).
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequency = torch.logspace(0, -4, d_model // 2, dtype=torch.float64)
    angle = position * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1).float()


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) of equation 1: how much each query takes from each key, [B, H, T, S].

    `mask` is boolean and broadcasts to that shape: True where a query may look; each row has a True. If `causal`, no
    position sees a later one.
    """
    scores_BHTS = q_BHTK @ (k_BHSK.transpose(-1, -2) * float(q_BHTK.size(-1) ** -0.5))
    if causal:
        later_TS = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool, device=scores_BHTS.device).triu_(1)
        scores_BHTS.masked_fill_(later_TS, -math.inf)
    if mask is not None:
        scores_BHTS.masked_fill_(~mask, -math.inf)
    return scores_BHTS.softmax(-1)


def attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, mask: Tensor | None, dropout: float, causal: bool
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (equation 1), [B, H, T, K], written out.

    With the arguments of PyTorch's fused function, which it equals but that in bf16 it rounds before the softmax too.
    For sentences on a CPU this is faster, forward and backward together: 256 of 16 positions, 8 heads of 64 numbers
    take 8 ms instead of 61 in bf16, 11 instead of 18 in fp32.
    """
    with torch.autocast(q_BHTK.device.type, enabled=False):
        return Dropout(dropout).forward(attention_weights(q_BHTK, k_BHSK, mask, causal)) @ v_BHSK


class Attention(nn.Module):
    """Multi-head attention (section 3.2.2): Concat(head_1 .. head_h) W^O, without biases.

    `projections` holds W^Q, W^K and W^V of all heads below one another, so that self-attention is one product.
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.heads = settings.heads
        self.dropout = settings.attention_dropout
        self.sizes = [settings.heads * settings.d_k, settings.heads * settings.d_k, settings.heads * settings.d_v]
        self.projections = nn.Parameter(torch.empty(sum(self.sizes), settings.d_model))
        self.output = nn.Linear(settings.heads * settings.d_v, settings.d_model, bias=False)
        # The paper does not say how weights begin. Glorot over all of `projections` as one matrix makes its three parts
        # smaller by sqrt(2) than each by itself, and post-LN leaves its first plateau a quarter sooner.
        nn.init.xavier_uniform_(self.projections)
        nn.init.xavier_uniform_(self.output.weight)

    def forward(
        self, x_BTD: Tensor, memory_BSD: Tensor | None = None, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Self-attention of `x`, or its attention to `memory`: [B, T, D]. Mask and causal as in `attention_weights`."""
        return self.attend(*self.project(x_BTD, memory_BSD), mask, causal)

    def project(self, x_BTD: Tensor, memory_BSD: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of `x`, [B, H, T, K], and keys and values of `memory` or else of `x` too, [B, H, S, K]."""
        if memory_BSD is not None:
            return self.project_query(x_BTD), *self.project_memory(memory_BSD)
        q, k, v = F.linear(x_BTD, self.projections).split(self.sizes, dim=-1)
        return self._split_heads(q), self._split_heads(k), self._split_heads(v)

    def project_query(self, x_BTD: Tensor) -> Tensor:
        """Queries alone, [B, H, T, K]."""
        return self._split_heads(F.linear(x_BTD, self.projections[: self.sizes[0]]))

    def project_memory(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values alone, each [B, H, S, K]."""
        k, v = F.linear(memory_BSD, self.projections[self.sizes[0] :]).split(self.sizes[1:], dim=-1)
        return self._split_heads(k), self._split_heads(v)

    def attend(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """softmax(Q K^T / sqrt(d_k)) V (equation 1), then W^O: [B, T, D]."""
        dropout = self.dropout if self.training else 0.0
        function = F.scaled_dot_product_attention if q_BHTK.is_cuda else attention
        y_BHTK = function(q_BHTK, k_BHSK, v_BHSK, mask, dropout, causal)
        return self.output(y_BHTK.transpose(1, 2).flatten(2))

    def _split_heads(self, x_BTJ: Tensor) -> Tensor:
        return x_BTJ.view(*x_BTJ.shape[:2], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 (equation 2)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.inner = nn.Linear(settings.d_model, settings.d_ff)
        self.outer = nn.Linear(settings.d_ff, settings.d_model)
        self.dropout = Dropout(settings.activation_dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.outer(self.dropout(F.relu(self.inner(x_BTD))))


class Residual(nn.Module):
    """What stands around each sub-layer (sections 3.1 and 5.4): LayerNorm(x + Dropout(Sublayer(x))), "post".

    As "pre", which later code made its default, x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.d_model, eps=LAYER_NORM_EPSILON)
        self.dropout = Dropout(settings.dropout)
        self.post = settings.normalisation == "post"

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """`x` joined with what the sub-layer makes of it, [B, T, D]."""
        if self.post:
            return self.norm(self.dropout.add(x_BTD, sublayer(x_BTD)))
        return self.dropout.add(x_BTD, sublayer(self.norm(x_BTD)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.attention = Attention(settings)
        self.attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, x_BSD: Tensor, mask: Tensor | None) -> Tensor:
        """[B, S, D] to [B, S, D]; `mask` as in `attention_weights`."""
        x_BSD = self.attention_residual(x_BSD, lambda x: self.attention(x, mask=mask))
        return self.feed_forward_residual(x_BSD, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention to earlier positions, attention to the source, then feed-forward (section 3.1)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.attention = Attention(settings)
        self.attention_residual = Residual(settings)
        self.cross_attention = Attention(settings)
        self.cross_attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, y_BTD: Tensor, memory_BSD: Tensor, mask: Tensor | None) -> Tensor:
        """[B, T, D] and the encoder's output [B, S, D] to [B, T, D].

        `mask` is that of the source, as in `attention_weights`; no target position sees a later one.
        """
        y_BTD = self.attention_residual(y_BTD, lambda y: self.attention(y, causal=True))
        y_BTD = self.cross_attention_residual(y_BTD, lambda y: self.cross_attention(y, memory_BSD, mask))
        return self.feed_forward_residual(y_BTD, self.feed_forward)


class Transformer(nn.Module):
    """The whole model. One matrix serves both embeddings and the pre-softmax projection (section 3.4).

    Args:
        settings: its shape.
        vocabulary: the number of sub-words, shared by both languages.
    """

    positions: Tensor
    encoder: Sequence[EncoderLayer]
    decoder: Sequence[DecoderLayer]

    def __init__(self, settings: ModelSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.empty(vocabulary, settings.d_model))
        nn.init.normal_(self.embedding, std=settings.d_model**-0.5)
        self.dropout = Dropout(settings.dropout)
        # A ModuleList does not tell the type of what is in it.
        self.encoder = cast(Any, nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers)))
        self.decoder = cast(Any, nn.ModuleList(DecoderLayer(settings) for _ in range(settings.layers)))
        self.encoder_norm, self.decoder_norm = _last_norm(settings), _last_norm(settings)
        if settings.positions == "learned":
            self.positions = nn.Parameter(torch.empty(LEARNED_POSITIONS, settings.d_model))
            nn.init.normal_(self.positions, std=settings.d_model**-0.5)
        else:
            self.register_buffer("positions", self._table(256), persistent=False)

    def _table(self, length: int) -> Tensor:
        table = sinusoids if self.settings.positions == "sinusoidal" else concatenated_sinusoids
        return table(length, self.settings.d_model).to(self.embedding)

    def embed(self, ids_BT: Tensor, first: int = 0) -> Tensor:
        """Embeddings times sqrt(d_model) plus positions, counted from `first` (sections 3.4 and 3.5): [B, T, D].

        InputError for a sentence longer than a learned table of positions.
        """
        end, positions = first + ids_BT.size(1), self.positions
        if end > positions.size(0):
            if self.settings.positions == "learned":
                raise InputError(f"a sentence of {end} sub-words: the model has {LEARNED_POSITIONS} learned positions")
            # Other threads may search with this model meanwhile, with a table of their own length.
            self.positions = positions = self._table(2 * end)
        x_BTD = F.embedding(ids_BT, self.embedding) * math.sqrt(self.settings.d_model)
        return self.dropout(x_BTD + positions[first:end])

    def run_encoder(self, source_BS: Tensor, mask: Tensor | None) -> Tensor:
        """Source ids (each sentence ends with the end symbol, then padding) to the encoder's output, [B, S, D].

        `mask` is `padding_mask` of the source, or None where no sentence is padded.
        """
        x_BSD = self.embed(source_BS)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, mask)
        return self.encoder_norm(x_BSD)

    def forward(self, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None) -> Tensor:
        """The decoder's output [B, T, D] for shifted target ids; `logits` turns it into scores of the next sub-word.

        Padded target positions follow all real ones, which never look at them: they need no mask.
        """
        memory_BSD = self.run_encoder(source_BS, mask)
        y_BTD = self.embed(target_BT)
        for layer in self.decoder:
            y_BTD = layer(y_BTD, memory_BSD, mask)
        return self.decoder_norm(y_BTD)

    def logits(self, y_BTD: Tensor) -> Tensor:
        """Scores of each sub-word, before the softmax: [B, T, V]."""
        return F.linear(y_BTD, self.embedding)


def _last_norm(settings: ModelSettings) -> nn.Module:
    """Behind a stack of layers: only "pre" leaves the sum of all sub-layers without a normalisation."""
    if settings.normalisation == "post":
        return nn.Identity()
    return nn.LayerNorm(settings.d_model, eps=LAYER_NORM_EPSILON)


def padding_mask(lengths_B: Tensor, longest: int) -> Tensor:
    """True at real positions, [B, 1, 1, longest], for keys in `attention_weights`."""
    return (torch.arange(longest, device=lengths_B.device) < lengths_B.unsqueeze(1))[:, None, None, :]


def count_parameters(model: nn.Module) -> int:
    """Trained numbers, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
