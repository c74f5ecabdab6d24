"""A plain loop around torch.nn.Transformer, as one would write it first."""

import math

import torch
from torch import Tensor, nn

from benchmarks.contenders import padded_loop
from benchmarks.contenders.job import PAD, Job, Stopwatch, device, measure

LONGEST = 1024


class Translation(nn.Module):
    """torch.nn.Transformer between a shared embedding and its transpose, with sinusoidal positions."""

    positions: Tensor

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.d_model = job.d_model
        self.embedding = nn.Embedding(job.vocabulary, job.d_model, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=job.d_model**-0.5)
        self.dropout = nn.Dropout(job.dropout)
        self.body = nn.Transformer(
            job.d_model, job.heads, job.layers, job.layers, job.d_ff, job.dropout, batch_first=True
        )
        angle = torch.arange(LONGEST).unsqueeze(1) / 10000 ** (torch.arange(0, job.d_model, 2) / job.d_model)
        self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        """[B, T] to [B, T, D]."""
        x: Tensor = self.dropout(self.embedding(ids) * math.sqrt(self.d_model) + self.positions[: ids.size(1)])
        return x

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source [B, S] and target input [B, T] to scores [B, T, V]."""
        padding = source == PAD
        later = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=source.device)
        y = self.body(
            self.embed(source),
            self.embed(target),
            tgt_mask=later,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return nn.functional.linear(y, self.embedding.weight)


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    model = Translation(job).to(device())
    padded_loop.train(job, watch, model, model)


if __name__ == "__main__":
    measure(train, f"torch.nn.Transformer {torch.__version__}")
