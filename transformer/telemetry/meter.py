"""What a training costs and gives while it runs: time, tokens, padding, operations, memory, losses."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

from transformer.batches import Batch
from transformer.loss import perplexity_of
from transformer.telemetry.devices import peak_memory

# Of a whole training. Seconds are those of updates; `data_seconds` of these went by waiting for a batch. Tokens are
# those of all ranks. Positions and the padding among them are those that this rank multiplied.
TOTALS = (
    "seconds", "data_seconds", "validation_seconds", "flops", "source_tokens", "target_tokens",
    "source_positions", "target_positions", "source_padding", "target_padding", "peak_memory_bytes",
)  # fmt: skip


class Meter:
    """Sums over a training, and over its updates since the last point of the curve: the window.

    Losses are summed on the device, so that no update waits for them: only `read` does.

    Args:
        totals: holds the sums named in TOTALS, those of an earlier part of the training included; kept up to date.
        device: that of this rank.
        ranks: how many compute.
        peak: FLOP/s of one device, of which the utilisation is a share; None if it is unknown.
    """

    def __init__(self, totals: dict[str, Any], device: torch.device, ranks: int, peak: float | None) -> None:
        self.totals, self.device, self.ranks, self.peak = totals, device, ranks, peak
        self.restart()

    def restart(self) -> None:
        """Begin a new window."""
        self.loss: Any = 0.0
        self.nll: Any = 0.0
        self.tokens = 0  # targets of this rank
        self.rate = 0.0
        for name in TOTALS:
            self.totals.setdefault(name, 0)
        self.before = {name: self.totals[name] for name in TOTALS}

    @contextmanager
    def clock(self, *names: str) -> Iterator[None]:
        """Add the time that the block takes to these totals."""
        started = time.monotonic()
        try:
            yield
        finally:
            for name in names:
                self.totals[name] += time.monotonic() - started

    def add_part(self, batch: Batch, flops: float, loss: torch.Tensor, nll: torch.Tensor) -> None:
        """Count one forward and backward pass of this rank.

        Args:
            batch: what was multiplied.
            flops: operations of it.
            loss: sum over its target tokens, in nats.
            nll: the same without label smoothing.
        """
        self.loss += loss.detach()
        self.nll += nll.detach()
        self.tokens += batch.target_tokens
        # Ranks share a batch evenly: this one's operations stand for all.
        self.totals["flops"] += flops * self.ranks
        sides = ("source", batch.source_BS, batch.source_tokens), ("target", batch.target_BT, batch.target_tokens)
        for side, ids, tokens in sides:
            self.totals[f"{side}_positions"] += ids.numel()
            self.totals[f"{side}_padding"] += ids.numel() - tokens

    def add_update(self, learning_rate: float, source_tokens: int, target_tokens: int) -> None:
        """Count one update: the rate it used and the tokens of all ranks."""
        self.rate = learning_rate
        self.totals["source_tokens"] += source_tokens
        self.totals["target_tokens"] += target_tokens

    def wait_for_device(self) -> None:
        """Let a GPU finish what it was given; the time counts as that of updates."""
        if self.device.type == "cuda":
            with self.clock("seconds"):
                torch.cuda.synchronize(self.device)

    def read(self, together: bool) -> dict[str, float]:
        """The window's metrics: losses in nats per target token, rates per second, shares of 1.

        Args:
            together: losses over all ranks, each of which must ask; else those of this rank's parts.
        """
        self.wait_for_device()
        sums = torch.tensor([float(self.loss), float(self.nll), self.tokens], dtype=torch.float64)
        if together and self.ranks > 1:
            sums = all_sum(sums, self.device)
        loss, nll = (sums[:2] / sums[2]).tolist()
        self.totals["peak_memory_bytes"] = max(self.totals["peak_memory_bytes"], peak_memory(self.device))
        return {
            "loss": loss,
            "perplexity": perplexity_of(nll),
            "learning_rate": self.rate,
            **self._rates({name: self.totals[name] - self.before[name] for name in TOTALS}),
            "peak_memory_bytes": self.totals["peak_memory_bytes"],
        }

    def summary(self) -> dict[str, float]:
        """Rates and shares over the whole training."""
        return self._rates(self.totals)

    def _rates(self, sums: dict[str, Any]) -> dict[str, float]:
        rates = {
            "tokens_per_second": _ratio(sums["target_tokens"], sums["seconds"]),
            "padding_share": _ratio(
                sums["source_padding"] + sums["target_padding"], sums["source_positions"] + sums["target_positions"]
            ),
            "data_wait_share": _ratio(sums["data_seconds"], sums["seconds"]),
        }
        if self.peak:
            rates["utilisation"] = _ratio(sums["flops"], sums["seconds"] * self.ranks * self.peak)
        return rates


def all_sum(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The sum of a small tensor over all ranks."""
    values = values.to(device)
    dist.all_reduce(values)
    return values.cpu()


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
