"""What is seen of a training while it runs: a line on the terminal, and every few seconds where it stands."""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tqdm import tqdm

from transformer.io.progress import bar

SECONDS_BETWEEN = 5.0

Tell = Callable[[dict[str, Any]], None]


class Display:
    """Shows a training from its update `done` to its last, number `updates`.

    Args:
        updates: of the whole training.
        done: those that an earlier process made.
        tell: called every few seconds and at the end with all figures, `fraction` of 1 and a line of `text` among them.
    """

    def __init__(self, updates: int, done: int, tell: Tell) -> None:
        self.updates, self.done, self.tell = updates, done, tell
        self.bar = bar(updates, "train", "update", done)
        self.started = self.told = time.monotonic()

    def due(self) -> bool:
        """Whether it is time to tell again."""
        return time.monotonic() - self.told > SECONDS_BETWEEN

    def seconds_left(self, update: int) -> float:
        """Estimated from all the time since this process began, validation and saving included."""
        return (time.monotonic() - self.started) / max(1, update - self.done) * (self.updates - update)

    def show(self, progress: dict[str, Any], metrics: dict[str, float]) -> None:
        """Put the metrics into the line; if it is due, tell. A new perplexity on valid gets a line that stays."""
        status = self._status(progress, metrics)
        line = {"loss": f"{metrics['loss']:.3f}"}
        if "valid_perplexity" in status:
            line["valid perplexity"] = f"{status['valid_perplexity']:.2f}"
        line["tokens/s"] = f"{metrics['tokens_per_second']:.0f}"
        self.bar.set_postfix(line, refresh=False)
        if "valid_perplexity" in metrics:
            tqdm.write(f"train: {status['text']}", file=sys.stderr)
        if self.due() or progress["update"] == self.updates:
            self.told = time.monotonic()
            self.tell(status)

    def _status(self, progress: dict[str, Any], metrics: dict[str, float]) -> dict[str, Any]:
        left = self.seconds_left(progress["update"])
        now = datetime.now(UTC)
        status = {
            "update": progress["update"],
            "updates": self.updates,
            "fraction": progress["update"] / self.updates,
            "epoch": progress["epoch"],
            "seconds": progress["seconds"],
            "seconds_left": left,
            "finish": (now + timedelta(seconds=left)).isoformat(timespec="seconds"),
            "date": now.isoformat(timespec="seconds"),
            **{name: value for point in progress["curve"] for name, value in point.items() if "valid" in name},
            **metrics,
        }
        return {**status, "text": describe(status)}

    def close(self) -> None:
        """Leave the line as it is."""
        self.bar.close()


def describe(status: dict[str, Any]) -> str:
    """All figures in one line."""
    parts = [f"loss {status['loss']:.3f}"]
    if "valid_perplexity" in status:
        parts.append(f"valid perplexity {status['valid_perplexity']:.2f}")
    parts += [f"learning rate {status['learning_rate']:.2e}", f"{status['tokens_per_second']:,.0f} target tokens/s"]
    if "utilisation" in status:
        parts.append(f"{status['utilisation']:.1%} of peak FLOP/s")
    finish = datetime.fromisoformat(status["finish"]).astimezone()
    parts += [
        f"padding {status['padding_share']:.1%}",
        f"waiting for data {status['data_wait_share']:.1%}",
        f"peak memory {status['peak_memory_bytes'] / 1e9:.2f} GB",
        f"finish about {finish:%Y-%m-%d %H:%M %Z}",
    ]
    return f"update {status['update']:,} of {status['updates']:,}: {', '.join(parts)}"
