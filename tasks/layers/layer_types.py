"""The layers that the paper's Table 1 compares (section 4), each from [B, N, D] to [B, N, D].

Legend of the shape suffixes: B sentences, N positions, D the width d, H heads, K d_k, R the neighbourhood r, C blocks
of R positions.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tasks.common.settings import LayersSettings
from transformer.model import attention

Look = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys and values, each [B, H, N, K], to [B, H, N, K]

# Attention stands there twice: as the paper counts it, and with W^Q, W^K, W^V and W^O.
NAMES = (
    "self-attention",
    "self-attention with projections",
    "recurrent",
    "convolutional",
    "restricted self-attention",
    "restricted self-attention with projections",
)


def make_layer(name: str, d: int, settings: LayersSettings) -> nn.Module:
    """The layer of this name among NAMES, at width d."""
    if name == "recurrent":
        return Recurrent(d)
    if name == "convolutional":
        return Convolutional(d, settings.kernel)
    look: Look = partial(attention, mask=None, dropout=0.0, causal=False)
    if name.startswith("restricted"):
        look = partial(restricted_attention, neighbourhood=settings.neighbourhood)
    return Projected(d, settings.d_k, look) if name.endswith("projections") else Alone(settings.d_k, look)


def restricted_attention(q_BHNK: Tensor, k_BHNK: Tensor, v_BHNK: Tensor, neighbourhood: int) -> Tensor:
    """Attention in which position i sees the r positions i - r/2 .. i + r/2 - 1 that exist; [B, H, N, K].

    Each block of r queries is multiplied with the 2r keys around it, of which a mask leaves r to each query: matrix
    products of 2 r n d, twice what must be, and nothing that grows with n * n.

    Args:
        q_BHNK: queries.
        k_BHNK: keys.
        v_BHNK: values.
        neighbourhood: r, even, of which N is a multiple.
    """
    r, n = neighbourhood, q_BHNK.size(-2)
    q_BHCRK = q_BHNK.unflatten(-2, (n // r, r))
    k_BHCSK, v_BHCSK = (_windows(x_BHNK, r) for x_BHNK in (k_BHNK, v_BHNK))
    query_R1, key_S = torch.arange(r).unsqueeze(1), torch.arange(2 * r)
    near_RS = (key_S >= query_R1) & (key_S < query_R1 + r)
    position_CS = torch.arange(n // r).unsqueeze(1) * r - r // 2 + key_S
    there_C1S = ((position_CS >= 0) & (position_CS < n)).unsqueeze(1)
    mask_CRS = (near_RS & there_C1S).to(q_BHNK.device)
    y_BHCRK = attention(q_BHCRK, k_BHCSK, v_BHCSK, mask_CRS, dropout=0.0, causal=False)
    return y_BHCRK.flatten(2, 3)


def _windows(x_BHNK: Tensor, r: int) -> Tensor:
    """For each block of r positions the 2r around it, zeros outside of the sequence: [B, H, C, 2R, K]."""
    padded = F.pad(x_BHNK, (0, 0, r // 2, r // 2))
    return padded.unfold(-2, 2 * r, r).transpose(-1, -2)


def _split_heads(x_BND: Tensor, d_k: int) -> Tensor:
    x_BNHK: Tensor = x_BND.unflatten(-1, (-1, d_k))
    return x_BNHK.transpose(1, 2)


def _join_heads(y_BHNK: Tensor) -> Tensor:
    return y_BHNK.transpose(1, 2).flatten(2)


class Alone(nn.Module):
    """Attention of d / d_k heads with the input itself as queries, keys and values: what Table 1 counts."""

    def __init__(self, d_k: int, look: Look) -> None:
        super().__init__()
        self.d_k, self.look = d_k, look

    def forward(self, x_BND: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        heads = _split_heads(x_BND, self.d_k)
        return _join_heads(self.look(heads, heads, heads))


class Projected(nn.Module):
    """The same with the projections of section 3.2.2, 4 n d^2 products more, as a Transformer has it."""

    def __init__(self, d: int, d_k: int, look: Look) -> None:
        super().__init__()
        self.d_k, self.look = d_k, look
        self.projections, self.output = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, x_BND: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        q, k, v = (_split_heads(x, self.d_k) for x in self.projections(x_BND).chunk(3, dim=-1))
        return self.output(_join_heads(self.look(q, k, v)))


class Recurrent(nn.Module):
    """Gated recurrent units, six products of n d^2. PyTorch's LSTM has eight, which its counter does not see."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.gru = nn.GRU(d, d, batch_first=True)

    def forward(self, x_BND: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        return self.gru(x_BND)[0]


class Convolutional(nn.Module):
    """A convolution over k positions, all of d channels to all of d: k n d^2 products."""

    def __init__(self, d: int, kernel: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(d, d, kernel, padding=kernel // 2)

    def forward(self, x_BND: Tensor) -> Tensor:
        """[B, N, D] to [B, N, D]."""
        return self.convolution(x_BND.transpose(1, 2)).transpose(1, 2)
