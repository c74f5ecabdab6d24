"""How many tokens a device takes at once: as set, a fixed number on a CPU, what memory allows on a GPU."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from transformer.telemetry.auto_batch import TOKENS_ON_A_CPU, tokens_per_device


def settings(tokens: int | str, update: int = 25_000) -> Any:
    return SimpleNamespace(tokens_per_device=tokens, tokens_per_update=update)


def refuse(tokens: int) -> None:
    raise AssertionError("nothing needs to be tried")


def test_a_number_is_taken_as_it_is_and_a_cpu_tries_nothing() -> None:
    assert tokens_per_device(settings(700), refuse, torch.device("cuda")) == 700
    assert tokens_per_device(settings("auto"), refuse, torch.device("cpu")) == TOKENS_ON_A_CPU


@pytest.mark.parametrize(
    ("free", "update", "expected"),
    [
        (10e9, 25_000, 31_500 // 1024 * 1024),  # (7.5e9 - 1e9 fixed - 2 * 1e8 of Adam) / 2e5 bytes a token
        (139e9, 25_000, 50_000),  # a whole batch, with room for a longer side and for padding
        (1e9, 25_000, 2048),
    ],
)
def test_a_gpu_takes_what_its_memory_allows(
    monkeypatch: pytest.MonkeyPatch, free: float, update: int, expected: int
) -> None:
    """The figures of a made-up GPU: its memory rises by 200,000 bytes a token."""
    peak = 0.0

    def attempt(tokens: int) -> None:
        nonlocal peak
        peak = 1e9 + 2e5 * tokens

    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: None)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: peak)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 1e8)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 2 * free))
    assert tokens_per_device(settings("auto", update), attempt, torch.device("cuda")) == expected
