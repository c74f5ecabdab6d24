"""Training as in section 5 of the paper, on one or many devices; a function of settings, data and seed.

Each update takes one batch of the epoch's plan, divided over ranks and accumulation; the summed loss is divided once,
by all its target tokens. Random numbers are drawn anew for each (seed, update, part of the batch), so that a training
that was stopped and continued ends with the same weights as one that was not (on a CPU to the bit).

What does not depend on the number of ranks: which pairs an update learns from, in which order, at which rate. Where a
batch is cut into as many parts (as it is on 1, 2 and 4 ranks if a device takes a quarter of it), the dropout masks do
not either, and the weights differ by the rounding of sums in another order. Cut into another number of parts, which
follows from tokens_per_device and is a multiple of the ranks, each part draws other masks: the same training with
other luck.
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
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from transformer.batches import Batch, collate, divide, in_parts, plan_epoch
from transformer.checkpoints import load_checkpoint, write_checkpoint, write_snapshot
from transformer.io.checkpoint_files import checkpoint_path, checkpoints, set_aside_damaged, update_of
from transformer.io.files import remove_unfinished
from transformer.io.prefetch import ahead
from transformer.io.shards import Pairs
from transformer.loss import perplexity_of, smoothed_loss
from transformer.model import Transformer
from transformer.schedule import learning_rate
from transformer.settings import ModelSettings, TrainingSettings
from transformer.telemetry.auto_batch import tokens_per_device
from transformer.telemetry.devices import has_bf16, peak_flops, pick_device
from transformer.telemetry.display import Display, Tell
from transformer.telemetry.flops import batch_flops
from transformer.telemetry.meter import Meter, all_sum
from transformer.text.bpe_dropout import BpeDropout
from transformer.text.subwords import EOS, Subwords

ADAM_BETA1, ADAM_EPSILON = 0.9, 1e-9  # section 5.3
CURVE_POINTS = 200
SECONDS_BETWEEN_CHECKPOINTS = 600.0  # at most; each snapshot also brings one
SECONDS_TO_BE_ENDED = 5.0  # within which torchrun tells the other ranks that one has failed; it looks each 0.1 s
BATCHES_AHEAD = 2

Report = Callable[[int, dict[str, float]], None]


Part = tuple[NDArray[np.int32], Batch]  # what a rank computes at once; no indices: the batch counts nothing


class Work(NamedTuple):
    """One update's batch: the pairs of all ranks, this rank's parts on its device, and its place in the plans."""

    update: int  # counted from 1
    indices: NDArray[np.int32]
    parts: list[Part]
    epoch: int
    batch: int  # of the epoch, counted from 1


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
        made_from: all that the result depends on (settings, hashes of the data); kept in each checkpoint.
        subwords: of the pairs; needed for `bpe_dropout` only.
        report: called on rank 0 with (update, metrics) at each point of the curve.
        tell: called on rank 0 every few seconds with where the training stands.
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
        made_from: dict[str, Any] | None = None,
        subwords: Subwords | None = None,
        report: Report = lambda update, metrics: None,
        tell: Tell = lambda status: None,
    ) -> None:
        self.settings, self.training, self.folder, self.report = settings, training, folder, report
        self.tell = tell
        self.made_by, self.made_from = made_by or {}, made_from or {}
        self.bpe_dropout = None
        if training.bpe_dropout:
            assert subwords is not None
            self.bpe_dropout = BpeDropout(subwords, training.bpe_dropout, training.seed)
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
        self.bf16 = training.precision == "bf16" and has_bf16(self.device)
        self.precision = "bf16" if self.bf16 else "fp32"
        self.tokens_per_device = tokens_per_device(training, self._try, self.device)
        self.stop = False  # once true, the training saves and ends
        self.saved = 0
        self.progress: dict[str, Any] = {"update": 0, "epoch": 0, "batch": 0, "curve": [], "made_by": []}
        self.meter = Meter(self.progress, self.device, self.ranks, peak_flops(self.device, self.bf16))

    def run(self) -> dict[str, Any]:
        """Train to the last update and return what was done: seconds, tokens, FLOPs, their ratios, and the curve.

        Raises:
            Stopped: asked to end before that; a checkpoint holds all that was done.
            FloatingPointError: the loss is no longer finite.
            InputError: there are checkpoints and all are damaged.
        """
        try:
            return self._run()
        except RuntimeError:
            if self.ranks > 1 and self._another_has_left():
                raise Stopped from None
            raise

    def _run(self) -> dict[str, Any]:
        before = self._resume()
        self.progress.update(before or {})
        self.progress.pop("energy_joules", None)  # which older versions counted
        self.meter.restart()
        self.saved = self.progress["update"]
        if self.rank == 0 and self.saved:
            print(f"train: continuing after update {self.saved}", file=sys.stderr, flush=True)
        last_checkpoint = time.monotonic()
        display = Display(self.training.updates, self.saved, self.tell) if self.rank == 0 else None
        batches = ahead(self._batches(), BATCHES_AHEAD)
        try:
            while True:
                with self.meter.clock("seconds", "data_seconds"):
                    work = next(batches, None)
                if work is None:
                    break
                update = work.update
                self.progress.update(update=update, epoch=work.epoch, batch=work.batch)
                with self.meter.clock("seconds"):
                    self.step(update, work.indices, work.parts)
                if self.made_by not in self.progress["made_by"][-1:]:
                    self.progress["made_by"].append(self.made_by)
                self.progress["date"] = datetime.now(UTC).isoformat(timespec="seconds")
                self._after_update(update, display)
                # Rank 0 alone decides: the others are stopped when it is gone, so that none leaves it waiting.
                if self.rank == 0:
                    due = time.monotonic() - last_checkpoint > self.seconds_between_checkpoints
                    if self.stop or due or self.is_snapshot(update):
                        self._checkpoint()
                        last_checkpoint = time.monotonic()
                    if self.stop:
                        print(f"train: stopped after update {update}, which is saved", file=sys.stderr, flush=True)
                        raise Stopped
            self._checkpoint()
        finally:
            batches.close()
            if display is not None:
                display.close()
        return {**self.progress, **self.meter.summary()}

    def _resume(self) -> dict[str, Any] | None:
        """Load the newest good checkpoint and return its progress; None if there is none."""
        newest = 0
        if self.rank == 0:
            remove_unfinished(self.folder)
            set_aside_damaged(self.folder)
            newest = max(map(update_of, checkpoints(self.folder)), default=0)
        if self.ranks > 1:  # rank 0 alone has looked at the hashes; what another sees of a shared folder may be older
            newest = int(all_sum(torch.tensor([newest]), self.device))
        return load_checkpoint(checkpoint_path(self.folder, newest), self.model, self.optimizer) if newest else None

    def _batches(self) -> Iterator[Work]:
        """The work of each update from where the training stands to its end."""
        update, epoch, done = (self.progress[name] for name in ("update", "epoch", "batch"))
        while update < self.training.updates:
            training = self.training
            plan = plan_epoch(
                *self.train_lengths, training.tokens_per_update, training.seed, epoch, training.lengths_per_update
            )
            for number, indices in enumerate(plan[done:], start=done + 1):
                if update == self.training.updates:
                    return
                update += 1
                yield Work(update, indices, self._parts(indices, epoch), epoch, number)
            epoch, done = epoch + 1, 0

    def _parts(self, indices: NDArray[np.int32], epoch: int) -> list[Part]:
        """This rank's parts of the batch of all ranks; cut by the lengths without BPE-dropout."""
        lengths_per_update = self.training.lengths_per_update
        parts = divide(indices, *self.train_lengths, self.ranks, self.tokens_per_device, lengths_per_update)
        # Where a batch has fewer rows than there are parts, some part gets one row that counts nothing.
        return [
            (part, self._collate(part if len(part) else indices[:1], epoch).to(self.device))
            for part in parts[self.rank :: self.ranks]
        ]

    def _collate(self, indices: NDArray[np.int32], epoch: int) -> Batch:
        if self.bpe_dropout is None:
            return collate(self.train_pairs, indices)
        return collate(self.bpe_dropout(self.train_pairs, indices, epoch), np.arange(len(indices)))

    def _count_tokens(self, indices: NDArray[np.int32], parts: list[Part]) -> tuple[int, int]:
        """Source and target tokens of the batch of all ranks."""
        if self.bpe_dropout is None:
            source, target = (int(lengths[indices].sum()) for lengths in self.train_lengths)
            return source, target
        batches = [batch for part, batch in parts if len(part)]
        mine = [sum(batch.source_tokens for batch in batches), sum(batch.target_tokens for batch in batches)]
        # Each rank has cut its own parts only.
        source, target = all_sum(torch.tensor(mine), self.device).tolist() if self.ranks > 1 else mine
        return source, target

    def step(self, update: int, indices: NDArray[np.int32], parts: list[Part] | None = None) -> None:
        """Apply one update, counted from 1, from the pairs of these indices (the batch of all ranks).

        Args:
            update: its number.
            indices: of the pairs.
            parts: this rank's, if they have been made before.
        """
        rate = learning_rate(update, self.settings.d_model, self.training.warmup, self.training.learning_rate_factor)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.parallel.train()
        parts = self._parts(indices, self.progress["epoch"]) if parts is None else parts
        source_tokens, target_tokens = self._count_tokens(indices, parts)
        for number, (part, batch) in enumerate(parts):
            torch.manual_seed(_mix(self.training.seed, update, number * self.ranks + self.rank))
            with self._gradients_stay_here(number < len(parts) - 1):
                loss, nll = self._loss(batch, label_smoothing=self.training.label_smoothing, counts=len(part) > 0)
                # DDP takes the mean over ranks; the division by all target tokens must come out once.
                (loss * (self.ranks / target_tokens)).backward()
            if len(part):
                flops = batch_flops(self.settings, self.model.embedding.size(0), batch)
                self.meter.add_part(batch, flops, loss, nll)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.meter.add_update(rate, source_tokens, target_tokens)

    def _try(self, tokens: int) -> None:
        """Forward and backward pass of a made-up part of so many tokens, in sentences of 32."""
        ids = torch.full((tokens // 32, 32), EOS, device=self.device)
        every = torch.arange(ids.numel(), device=self.device)
        self._loss(Batch(ids, ids, ids.flatten(), every, None, tokens, tokens), label_smoothing=0.1)[0].backward()
        self.optimizer.zero_grad(set_to_none=True)

    def _gradients_stay_here(self, wanted: bool) -> AbstractContextManager[None]:
        """Ranks exchange their gradients once, after the last piece of an update."""
        if wanted and isinstance(self.parallel, DistributedDataParallel):
            return self.parallel.no_sync()
        return nullcontext()

    def _loss(self, batch: Batch, label_smoothing: float, counts: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            y_BTD = self.parallel(batch.source_BS, batch.target_BT, batch.mask)
        count = batch.target_tokens if counts else 0
        # By indices that came with the batch: to find them in a mask, the host would have to wait for the device.
        y_ND = y_BTD.flatten(0, 1).index_select(0, batch.positions_N[:count]).float()
        dtype = torch.bfloat16 if self.bf16 else torch.float32
        return smoothed_loss(y_ND, self.model.embedding, batch.gold_N[:count], label_smoothing, dtype)

    def _another_has_left(self) -> bool:
        """Whether an exchange failed because another rank has: torchrun then ends this one.

        That rank's own error shall be seen, and seen first.
        """
        end = time.monotonic() + SECONDS_TO_BE_ENDED
        while not self.stop and time.monotonic() < end:
            time.sleep(0.1)
        return self.stop

    def is_snapshot(self, update: int) -> bool:
        """Whether weights are kept after `update`; after the last always: without averaging, they are the model."""
        left = self.training.updates - update
        return left >= 0 and left % self.training.snapshot_every == 0

    def _after_update(self, update: int, display: Display | None) -> None:
        """Snapshots, validation and the curve, each at fixed update numbers; what is shown, by the clock."""
        training = self.training
        last = update == training.updates
        if display is not None:
            display.bar.update()
        if self.rank == 0 and self.is_snapshot(update):
            self._check_finite()
            write_snapshot(self.folder, update, self.model, training.keep_snapshots)
        validate = update % training.validate_every == 0 or last
        if not validate and update % max(1, training.updates // CURVE_POINTS) != 0:
            if display is not None and display.due():
                display.show(self.progress, self.meter.read(together=False))
            return
        self._check_finite()
        metrics = self.meter.read(together=True)
        self.meter.restart()
        if validate:
            with self.meter.clock("validation_seconds"):
                metrics["valid_nll"] = self.validate()
                metrics["valid_perplexity"] = perplexity_of(metrics["valid_nll"])
        self.progress["curve"].append({"update": update, **metrics})
        if display is not None:
            self.report(update, {**metrics, "seconds_left": display.seconds_left(update)})
            display.show(self.progress, metrics)

    @torch.no_grad()
    def validate(self) -> float:
        """Negative log-likelihood in nats per target sub-word of the valid pairs, end symbols included."""
        self.parallel.eval()
        total = torch.zeros(2, dtype=torch.float64)
        for part in in_parts(*self.valid_lengths, self.tokens_per_device)[self.rank :: self.ranks]:
            batch = collate(self.valid_pairs, part).to(self.device)
            total += torch.tensor([self._loss(batch, label_smoothing=0.0)[1].item(), batch.target_tokens])
        if self.ranks > 1:
            total = all_sum(total, self.device)
        return float(total[0] / total[1])

    def _check_finite(self) -> None:
        """What is not a number must not overwrite a good checkpoint; every rank's reaches the shared embedding."""
        self.meter.wait_for_device()
        if not torch.isfinite(self.meter.loss + self.model.embedding.detach().sum()):
            raise FloatingPointError(f"the loss or the weights at update {self.progress['update']} are not finite")

    def _checkpoint(self) -> None:
        if self.rank == 0 and self.saved != self.progress["update"]:
            self._check_finite()
            write_checkpoint(self.folder, self.model, self.optimizer, self.progress, self.made_from)
            self.saved = self.progress["update"]


def stop_when_asked(trainer: Trainer, parent: int) -> None:
    """End the training with a checkpoint on SIGTERM or Ctrl-C, and when the process that started it is gone.

    Args:
        trainer: the training.
        parent: the process id of that process, asked for before anything that takes time.
    """

    def stop(*signal_and_frame: object) -> None:
        trainer.stop = True

    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, stop)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        stop()

    threading.Thread(target=watch, daemon=True).start()


def _mix(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
