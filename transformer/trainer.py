"""Training as in section 5 of the paper, on one or many devices; a function of settings, data and seed.

Each update takes one batch of the epoch's plan, divided over ranks and accumulation; the summed loss is divided once,
by all its target tokens. Random numbers are drawn anew for each (seed, update, rank, piece), so that a training that
was stopped and continued ends with the same weights as one that was not.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from transformer.batches import Batch, collate, divide, plan_epoch
from transformer.capacity import tokens_per_device
from transformer.checkpoints import resume, write_checkpoint, write_snapshot
from transformer.cost import batch_flops
from transformer.devices import has_bf16, pick_device
from transformer.loss import smoothed_loss
from transformer.model import Transformer
from transformer.progress import bar
from transformer.schedule import learning_rate
from transformer.settings import ModelSettings, TrainingSettings
from transformer.shards import Pairs
from transformer.subwords import EOS

ADAM_BETA1, ADAM_EPSILON = 0.9, 1e-9  # section 5.3
CURVE_POINTS = 200
SECONDS_BETWEEN_CHECKPOINTS = 600.0  # at most; each snapshot also brings one

Report = Callable[[int, dict[str, float]], None]


class Stopped(SystemExit):
    """The training was asked to end (SIGTERM, or its parent is gone) and has written a checkpoint."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class Trainer:
    """One training on one rank.

    Args:
        settings: shape of the model.
        training: how it is trained.
        vocabulary: number of sub-words.
        train: the pairs to learn from.
        valid: the pairs on which perplexity is measured.
        folder: for checkpoints and snapshots.
        made_by: what applies the updates (commit, machine); kept in the progress, once for each change of it.
        report: called on rank 0 with (update, metrics) at each point of the curve.
    """

    def __init__(
        self,
        settings: ModelSettings,
        training: TrainingSettings,
        vocabulary: int,
        train: Pairs,
        valid: Pairs,
        folder: Path,
        made_by: dict[str, Any] | None = None,
        report: Report = lambda update, metrics: None,
    ) -> None:
        self.settings, self.training, self.folder, self.report = settings, training, folder, report
        self.made_by = made_by or {}
        self.train_pairs, self.valid_pairs = train, valid
        self.train_lengths = train.source_lengths + 1, train.target_lengths + 1  # with the end symbol
        self.valid_lengths = valid.source_lengths + 1, valid.target_lengths + 1
        self.seconds_between_checkpoints = SECONDS_BETWEEN_CHECKPOINTS
        self.ranks, self.rank = (dist.get_world_size(), dist.get_rank()) if dist.is_initialized() else (1, 0)
        self.device = pick_device()
        torch.manual_seed(training.seed)
        self.model = Transformer(settings, vocabulary).to(self.device)
        if training.compile:
            self.model.compile(dynamic=True)  # for all lengths at once: there is a new one in nearly every batch
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(ADAM_BETA1, training.beta2), eps=ADAM_EPSILON, fused=True
        )
        self.parallel: nn.Module = self.model
        if self.ranks > 1:
            # The one buffer, the table of positions, is the same everywhere and may grow on one rank alone.
            self.parallel = DistributedDataParallel(self.model, forward_sync_buffers=False)
        bf16 = training.precision != "fp32" and has_bf16(self.device)
        self.body_bf16 = bf16 and training.precision == "bf16"
        self.precision = training.precision if bf16 else "fp32"
        self.loss_dtype = torch.bfloat16 if bf16 else torch.float32
        self.tokens_per_device = tokens_per_device(training, self._try, self.device)
        self.window = _Window()
        self.stop = threading.Event()
        self.saved = 0
        self.progress: dict[str, Any] = {
            "update": 0, "epoch": 0, "batch": 0, "seconds": 0.0, "validation_seconds": 0.0, "flops": 0.0,
            "source_tokens": 0, "target_tokens": 0, "curve": [], "made_by": [],
        }  # fmt: skip

    def run(self) -> dict[str, Any]:
        """Train to the last update and return what was done: seconds, tokens, FLOPs and the curve.

        Raises:
            Stopped: asked to end before that; a checkpoint holds all that was done.
            FloatingPointError: the loss is no longer finite.
        """
        self.progress = resume(self.folder, self.model, self.optimizer) or self.progress
        self.saved = self.progress["update"]
        if self.rank == 0 and self.saved:
            print(f"train: continuing after update {self.saved}", file=sys.stderr, flush=True)
        last_checkpoint = time.monotonic()
        shown = bar(self.training.updates, "train", "update", self.progress["update"]) if self.rank == 0 else None
        try:
            for update, indices in self._batches():
                started = time.monotonic()
                self.step(update, indices)
                if self.made_by not in self.progress["made_by"][-1:]:
                    self.progress["made_by"].append(self.made_by)
                self.progress["date"] = datetime.now(UTC).isoformat(timespec="seconds")
                self.progress["seconds"] += time.monotonic() - started
                self.window.seconds += time.monotonic() - started
                if shown is not None:
                    shown.update()
                self._after_update(update, shown)
                # Rank 0 alone decides: the others are stopped when it is gone, so that none leaves it waiting.
                if self.rank == 0:
                    due = time.monotonic() - last_checkpoint > self.seconds_between_checkpoints
                    if self.stop.is_set() or due or update % self.training.snapshot_every == 0:
                        self._checkpoint()
                        last_checkpoint = time.monotonic()
                    if self.stop.is_set():
                        print(f"train: stopped after update {update}, which is saved", file=sys.stderr, flush=True)
                        raise Stopped
            self._checkpoint()
        except RuntimeError:
            if self.rank > 0 and self.stop.is_set():  # rank 0 has saved and left in the middle of an exchange
                raise Stopped from None
            raise
        finally:
            if shown is not None:
                shown.close()
        return self.progress

    def _batches(self) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """(update, indices) from where the training stands to its end; keeps the position in the plan."""
        progress = self.progress
        while True:
            plan = plan_epoch(
                *self.train_lengths, self.training.tokens_per_update, self.training.seed, progress["epoch"]
            )
            for position in range(progress["batch"], len(plan)):
                if progress["update"] == self.training.updates:
                    return
                progress["batch"] = position + 1
                progress["update"] += 1
                yield progress["update"], plan[position]
            progress["epoch"], progress["batch"] = progress["epoch"] + 1, 0

    def step(self, update: int, indices: NDArray[np.int32]) -> None:
        """Apply one update, counted from 1, from the pairs of these indices (the batch of all ranks)."""
        rate = learning_rate(update, self.settings.d_model, self.training.warmup, self.training.learning_rate_factor)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.parallel.train()
        source_tokens, target_tokens = (int(lengths[indices].sum()) for lengths in self.train_lengths)
        parts = divide(indices, *self.train_lengths, self.ranks, self.tokens_per_device)
        shares = parts[self.rank :: self.ranks]
        for number, share in enumerate(shares):
            torch.manual_seed(_mix(self.training.seed, update, self.rank, number))
            # Where a batch has fewer rows than there are parts, some part gets one row that counts nothing.
            batch = collate(self.train_pairs, share if len(share) else indices[:1]).to(self.device)
            with self._gradients_stay_here(number < len(shares) - 1):
                loss, nll = self._loss(batch, label_smoothing=self.training.label_smoothing, counts=len(share) > 0)
                # DDP takes the mean over ranks; the division by all target tokens must come out once.
                (loss * (self.ranks / target_tokens)).backward()
            if len(share):
                self.window.loss += loss.detach()
                self.window.nll += nll.detach()
                # Ranks share a batch evenly, to a row: this one's operations stand for all.
                self.progress["flops"] += batch_flops(self.settings, self.model.embedding.size(0), batch) * self.ranks
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.window.tokens += target_tokens
        self.window.rate = rate
        self.progress["source_tokens"] += source_tokens
        self.progress["target_tokens"] += target_tokens

    def _try(self, tokens: int) -> None:
        """Forward and backward pass of a made-up part of so many tokens, in sentences of 32."""
        ids = torch.full((tokens // 32, 32), EOS, device=self.device)
        self._loss(Batch(ids, ids, ids, None, tokens), label_smoothing=0.1)[0].backward()
        self.optimizer.zero_grad(set_to_none=True)

    def _gradients_stay_here(self, wanted: bool) -> AbstractContextManager[None]:
        """Ranks exchange their gradients once, after the last piece of an update."""
        if wanted and isinstance(self.parallel, DistributedDataParallel):
            return self.parallel.no_sync()
        return nullcontext()

    def _loss(self, batch: Batch, label_smoothing: float, counts: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.body_bf16):
            y_BTD = self.parallel(batch.source_BS, batch.target_BT, batch.mask)
        real = batch.real if counts else torch.zeros_like(batch.real)
        y_ND = y_BTD[real].float()
        return smoothed_loss(y_ND, self.model.embedding, batch.gold_BT[real], label_smoothing, self.loss_dtype)

    def _after_update(self, update: int, shown: Any) -> None:
        """Snapshots, validation and the curve, each at fixed update numbers."""
        training = self.training
        last = update == training.updates
        if self.rank == 0 and update % training.snapshot_every == 0:
            self._check_finite()
            write_snapshot(self.folder, update, self.model, training.keep_snapshots)
        validate = update % training.validate_every == 0 or last
        if not validate and update % max(1, training.updates // CURVE_POINTS) != 0:
            return
        self._check_finite()
        metrics = self.window.metrics(self.ranks)
        self.window.reset()
        if validate:
            started = time.monotonic()
            metrics["valid_nll"] = self.validate()
            metrics["valid_perplexity"] = float(np.exp(metrics["valid_nll"]))
            self.progress["validation_seconds"] += time.monotonic() - started
        self.progress["curve"].append({"update": update, **metrics})
        if self.rank == 0:
            rounded = {"loss": f"{metrics['loss']:.3f}", "tokens/s": f"{metrics['tokens_per_second']:.0f}"}
            shown.set_postfix(rounded, refresh=False)
            self.report(update, metrics)

    @torch.no_grad()
    def validate(self) -> float:
        """Negative log-likelihood in nats per target sub-word of the valid pairs, end symbols included."""
        self.parallel.eval()
        tokens = self.tokens_per_device
        plan = plan_epoch(*self.valid_lengths, tokens, seed=0, epoch=0)
        total = torch.zeros(2, dtype=torch.float64)
        parts = [part for indices in plan for part in divide(indices, *self.valid_lengths, 1, tokens)]
        for part in parts[self.rank :: self.ranks]:
            batch = collate(self.valid_pairs, part).to(self.device)
            total += torch.tensor([self._loss(batch, label_smoothing=0.0)[1].item(), batch.target_tokens])
        if self.ranks > 1:
            total = all_sum(total, self.device)
        return float(total[0] / total[1])

    def _check_finite(self) -> None:
        """What is not a number must not overwrite a good checkpoint; every rank's reaches the shared embedding."""
        if not torch.isfinite(self.window.loss + self.model.embedding.detach().sum()):
            raise FloatingPointError(f"the loss or the weights at update {self.progress['update']} are not finite")

    def _checkpoint(self) -> None:
        if self.rank == 0 and self.saved != self.progress["update"]:
            self._check_finite()
            write_checkpoint(self.folder, self.model, self.optimizer, self.progress)
            self.saved = self.progress["update"]


class _Window:
    """Sums since the last point of the curve; on the device, so that no update waits for them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.loss: Any = 0.0
        self.nll: Any = 0.0
        self.tokens, self.seconds, self.rate = 0, 0.0, 0.0

    def metrics(self, ranks: int) -> dict[str, float]:
        sums = torch.tensor([float(self.loss), float(self.nll)], dtype=torch.float64)
        if ranks > 1:
            sums = all_sum(sums, pick_device())
        loss, nll = (sums / self.tokens).tolist()
        return {
            "loss": loss,
            "perplexity": float(np.exp(nll)),
            "learning_rate": self.rate,
            "tokens_per_second": self.tokens / self.seconds,
        }


def all_sum(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The sum of a small tensor over all ranks."""
    values = values.to(device)
    dist.all_reduce(values)
    return values.cpu()


def stop_when_asked(trainer: Trainer, parent: int) -> None:
    """End the training with a checkpoint on SIGTERM or Ctrl-C, and when the process that started it is gone.

    Args:
        trainer: the training.
        parent: the process id of that process, asked for before anything that takes time.
    """
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda number, frame: trainer.stop.set())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        trainer.stop.set()

    threading.Thread(target=watch, daemon=True).start()


def _mix(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
