"""Dropout (section 5.4), on a CPU six times faster than PyTorch's, which there draws a double for each number."""

import math

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Sets each number to zero with probability `p` and divides the others by 1 - p; in training only.

    On a CPU `p` is taken to the next 1/65,536: sixteen random bits decide over a number.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """`x`, of any shape, with zeros in it."""
        if not self.training or not self.p:
            return x
        if x.is_cuda:
            return nn.functional.dropout(x, self.p)
        return torch.mul(x, self._mask(x, x.dtype))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """`x` + Dropout(`y`)."""
        if not self.training or not self.p or x.is_cuda:
            return x + self.forward(y)
        return torch.addcmul(x, y, self._mask(y, torch.result_type(x, y)))

    def _mask(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """What to multiply `x` with: zeros, and 1 / (1 - p) elsewhere."""
        words = torch.empty(math.ceil(x.numel() / 4), dtype=torch.int64).random_(-(2**63), None)
        bits = words.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = min(round(self.p * 2**16), 2**16 - 1)
        return torch.mul((bits >= dropped - 2**15).to(dtype), 2**16 / (2**16 - dropped))
