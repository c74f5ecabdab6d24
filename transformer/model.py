"""The model of "Attention Is All You Need", section 3: an encoder and a decoder of attention and feed-forward layers.

Legend of the shape suffixes: B sentences, S source positions, T target positions, D d_model, H heads, K d_k (or d_v),
F d_ff, V vocabulary, N tokens.
"""

import math
from dataclasses import dataclass

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


def attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, mask: Tensor | None, dropout: float, causal: bool
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (equation 1), [B, H, T, K], written out.

    With the arguments of PyTorch's fused function, which it equals but that in bf16 it rounds before the softmax too.
    For sentences on a CPU this is faster, forward and backward together: 256 of 16 positions, 8 heads of 64 numbers
    take 8 ms instead of 61 in bf16, 11 instead of 18 in fp32.
    """
    with torch.autocast(q_BHTK.device.type, enabled=False):
        scale = float(q_BHTK.size(-1) ** -0.5)
        scores_BHTS = q_BHTK @ (k_BHSK.transpose(-1, -2) * scale)
        if causal:
            later_TS = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool, device=scores_BHTS.device).triu_(1)
            scores_BHTS.masked_fill_(later_TS, -math.inf)
        if mask is not None:
            scores_BHTS.masked_fill_(~mask, -math.inf)
        return Dropout(dropout).forward(scores_BHTS.softmax(-1)) @ v_BHSK


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

    def _split_heads(self, x_BTN: Tensor) -> Tensor:
        return x_BTN.view(*x_BTN.shape[:2], self.heads, -1).transpose(1, 2)

    def project(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention, each [B, H, T, K]."""
        q, k, v = F.linear(x_BTD, self.projections).split(self.sizes, dim=-1)
        return self._split_heads(q), self._split_heads(k), self._split_heads(v)

    def project_query(self, x_BTD: Tensor) -> Tensor:
        """Queries of attention to another sequence, [B, H, T, K]."""
        return self._split_heads(F.linear(x_BTD, self.projections[: self.sizes[0]]))

    def project_memory(self, memory_BSD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the other sequence, each [B, H, S, K]."""
        k, v = F.linear(memory_BSD, self.projections[self.sizes[0] :]).split(self.sizes[1:], dim=-1)
        return self._split_heads(k), self._split_heads(v)

    def attend(
        self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """softmax(Q K^T / sqrt(d_k)) V (equation 1), then W^O: [B, T, D].

        `mask` is boolean and broadcasts to [B, H, T, S]: True where a query may look. Each row has a True.
        """
        dropout = self.dropout if self.training else 0.0
        function = F.scaled_dot_product_attention if q_BHTK.is_cuda else attention
        y_BHTK = function(q_BHTK, k_BHSK, v_BHSK, mask, dropout, causal)
        return self.output(y_BHTK.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


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
        return self.outer(self.dropout(F.relu(self.inner(x_BTD))))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """What stands around each sub-layer (sections 3.1 and 5.4): LayerNorm(x + Dropout(Sublayer(x))), "post".

    As "pre", which later code made its default, x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.d_model, eps=LAYER_NORM_EPSILON)
        self.dropout = Dropout(settings.dropout)
        self.post = settings.normalisation == "post"

    def into(self, x_BTD: Tensor) -> Tensor:
        """What the sub-layer reads, [B, T, D]."""
        return x_BTD if self.post else self.norm(x_BTD)

    def out(self, x_BTD: Tensor, sublayer_BTD: Tensor) -> Tensor:
        """`x` and the sub-layer's output joined, [B, T, D]."""
        y_BTD = self.dropout.add(x_BTD, sublayer_BTD)
        return self.norm(y_BTD) if self.post else y_BTD


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1)."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.attention = Attention(settings)
        self.attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, x_BSD: Tensor, mask: Tensor | None) -> Tensor:
        """[B, S, D] to [B, S, D]; `mask` as in `Attention.attend`."""
        attended = self.attention.attend(*self.attention.project(self.attention_residual.into(x_BSD)), mask)
        x_BSD = self.attention_residual.out(x_BSD, attended)
        return self.feed_forward_residual.out(x_BSD, self.feed_forward(self.feed_forward_residual.into(x_BSD)))


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
        """All positions at once, for training: [B, T, D] and the encoder's output [B, S, D] to [B, T, D].

        `mask` is that of the source, as in `Attention.attend`; no position sees a later one.
        """
        return self._rest(self._look_back(y_BTD), self.cross_attention.project_memory(memory_BSD), mask)

    def step(self, y_BWD: Tensor, cache: "LayerCache", mask: Tensor | None, seen_B1WN: Tensor) -> Tensor:
        """One new position of W hypotheses of each sentence, for search: [B, W, D] to [B, W, D]; see `LayerCache`."""
        q, k, v = self.attention.project(self.attention_residual.into(y_BWD))
        cache.append(k, v, seen_B1WN.size(-1))
        y_BWD = self.attention_residual.out(y_BWD, self.attention.attend(q, cache.keys, cache.values, seen_B1WN))
        return self._rest(y_BWD, (cache.memory_keys, cache.memory_values), mask)

    def source_weights(self, y_BTD: Tensor, memory_BSD: Tensor, mask: Tensor | None) -> Tensor:
        """The weights with which each head attends to the source, [B, H, T, S]; arguments as in `forward`."""
        q_BHTK = self.cross_attention.project_query(self.cross_attention_residual.into(self._look_back(y_BTD)))
        k_BHSK, _ = self.cross_attention.project_memory(memory_BSD)
        scale = float(q_BHTK.size(-1) ** -0.5)
        scores_BHTS = q_BHTK @ (k_BHSK.transpose(-1, -2) * scale)
        if mask is not None:
            scores_BHTS.masked_fill_(~mask, -math.inf)
        return scores_BHTS.softmax(-1)

    def _look_back(self, y_BTD: Tensor) -> Tensor:
        attended = self.attention.attend(*self.attention.project(self.attention_residual.into(y_BTD)), causal=True)
        return self.attention_residual.out(y_BTD, attended)

    def _rest(self, y: Tensor, memory: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        query = self.cross_attention.project_query(self.cross_attention_residual.into(y))
        y = self.cross_attention_residual.out(y, self.cross_attention.attend(query, *memory, mask))
        return self.feed_forward_residual.out(y, self.feed_forward(self.feed_forward_residual.into(y)))


@dataclass
class LayerCache:
    """What one decoder layer remembers of a search: keys and values of the source, [B, H, S, K], and of all hypotheses.

    Every position of every hypothesis has a slot, [B, H, N, K], and stays there: which of the slots of its sentence a
    hypothesis descends from is said by a mask, so that nothing is copied when the beam changes.
    """

    memory_keys: Tensor
    memory_values: Tensor
    keys: Tensor
    values: Tensor
    used: int = 0

    def append(self, k_BHWK: Tensor, v_BHWK: Tensor, slots: int) -> None:
        """Fill the next slots; there are so many `slots` then."""
        if slots > self.keys.size(2):
            room = (0, 0, 0, slots - self.keys.size(2))
            self.keys, self.values = F.pad(self.keys, room), F.pad(self.values, room)
        new = slice(self.used, self.used + k_BHWK.size(2))
        self.keys[:, :, new], self.values[:, :, new] = k_BHWK, v_BHWK
        self.used = new.stop

    def select_slots(self, slots_BN: Tensor, used: int) -> None:
        """Keep the given slots of each sentence, in that order; so many of them are full."""
        index = slots_BN[:, None, :, None].expand(-1, self.keys.size(1), -1, -1)
        self.keys = self.keys.gather(2, index.expand(-1, -1, -1, self.keys.size(3)))
        self.values = self.values.gather(2, index.expand(-1, -1, -1, self.values.size(3)))
        self.used = used

    def select(self, sentences: Tensor) -> None:
        """Keep the given sentences of the batch, in that order."""
        for name in ("memory_keys", "memory_values", "keys", "values"):
            setattr(self, name, getattr(self, name).index_select(0, sentences))


class Transformer(nn.Module):
    """The whole model. One matrix serves both embeddings and the pre-softmax projection (section 3.4).

    Args:
        settings: its shape.
        vocabulary: the number of sub-words, shared by both languages.
    """

    positions: Tensor

    def __init__(self, settings: ModelSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.empty(vocabulary, settings.d_model))
        nn.init.normal_(self.embedding, std=settings.d_model**-0.5)
        self.dropout = Dropout(settings.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.decoder = nn.ModuleList(DecoderLayer(settings) for _ in range(settings.layers))
        # Only "pre" leaves the sum of all sub-layers without a normalisation.
        pre = settings.normalisation == "pre"
        self.norms = nn.ModuleList(nn.LayerNorm(settings.d_model, eps=LAYER_NORM_EPSILON) for _ in range(2 * pre))
        if settings.positions == "learned":
            self.positions = nn.Parameter(torch.empty(LEARNED_POSITIONS, settings.d_model))
            nn.init.normal_(self.positions, std=settings.d_model**-0.5)
        else:
            self.register_buffer("positions", self._table(256), persistent=False)

    def _table(self, length: int) -> Tensor:
        table = sinusoids if self.settings.positions == "sinusoidal" else concatenated_sinusoids
        return table(length, self.settings.d_model).to(self.embedding)

    def _embed(self, ids_BT: Tensor, first: int = 0) -> Tensor:
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
        return self.dropout(x_BTD + positions[first:end])  # type: ignore[no-any-return]

    def encode(self, source_BS: Tensor, mask: Tensor | None) -> Tensor:
        """Source ids (each sentence ends with the end symbol, then padding) to the encoder's output, [B, S, D].

        `mask` is `padding_mask` of the source, or None where no sentence is padded.
        """
        x_BSD = self._embed(source_BS)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, mask)
        return self._finish(x_BSD, 0)

    def _finish(self, x_BTD: Tensor, stack: int) -> Tensor:
        return self.norms[stack](x_BTD) if len(self.norms) else x_BTD

    def forward(self, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None) -> Tensor:
        """The decoder's output [B, T, D] for shifted target ids; `logits` turns it into scores of the next sub-word.

        Padded target positions follow all real ones, which never look at them: they need no mask.
        """
        memory_BSD = self.encode(source_BS, mask)
        y_BTD = self._embed(target_BT)
        for layer in self.decoder:
            y_BTD = layer(y_BTD, memory_BSD, mask)
        return self._finish(y_BTD, 1)

    def alignment(self, source_BS: Tensor, target_BT: Tensor, mask: Tensor | None) -> Tensor:
        """Where it looks in the source for what follows each of the target ids: [B, T, S], arguments as in `forward`.

        The weights of the last decoder layer's attention to the source, mean of its heads; a row sums to 1.
        """
        memory_BSD = self.encode(source_BS, mask)
        y_BTD = self._embed(target_BT)
        *earlier, last = self.decoder
        for layer in earlier:
            y_BTD = layer(y_BTD, memory_BSD, mask)
        return last.source_weights(y_BTD, memory_BSD, mask).mean(1)  # type: ignore[no-any-return, operator]

    def logits(self, y_BTD: Tensor) -> Tensor:
        """Scores of each sub-word, before the softmax: [B, T, V]."""
        return F.linear(y_BTD, self.embedding)

    def start(self, memory_BSD: Tensor) -> list[LayerCache]:
        """A cache for each decoder layer, of the encoder's output [B, S, D] and of no target position yet."""
        caches = []
        for layer in self.decoder:
            k, v = layer.cross_attention.project_memory(memory_BSD)  # type: ignore[operator, union-attr]
            caches.append(LayerCache(k, v, k[:, :, :0], v[:, :, :0]))
        return caches

    def step(
        self, ids_BW: Tensor, position: int, caches: list[LayerCache], mask: Tensor | None, seen_BWN: Tensor
    ) -> Tensor:
        """The decoder's output [B, W, D] for `ids_BW`, which W hypotheses of each sentence have at `position`.

        The caches grow by W slots; `seen_BWN` is True at the slots that a hypothesis is made of, these among them.
        """
        y_BWD = self._embed(ids_BW.view(-1, 1), position).view(*ids_BW.shape, -1)
        for layer, cache in zip(self.decoder, caches, strict=True):
            y_BWD = layer.step(y_BWD, cache, mask, seen_BWN.unsqueeze(1))  # type: ignore[operator]
        return self._finish(y_BWD, 1)


def padding_mask(lengths_B: Tensor, longest: int) -> Tensor:
    """True at real positions, [B, 1, 1, longest], for keys in `Attention.attend`."""
    return (torch.arange(longest, device=lengths_B.device) < lengths_B.unsqueeze(1))[:, None, None, :]


def count_parameters(model: nn.Module) -> int:
    """Trained numbers, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
