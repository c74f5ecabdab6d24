"""Sentences in bands of length, as the pages about outputs show them."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

LENGTHS = (5, 10, 15, 20, 30, 40, 50)  # words: upper bounds of the bands, with one more for what is longer


def by_length(items: Iterable[T], length: Callable[[T], int]) -> list[tuple[str, list[T]]]:
    """The name of each band that has items (1–5, ..., 51 or more), and those in their order; `length` is in words."""
    bands: list[list[T]] = [[] for _ in (*LENGTHS, None)]
    for item in items:
        bands[sum(length(item) > bound for bound in LENGTHS)].append(item)
    lows = [low + 1 for low in (0, *LENGTHS)]
    names = [*(f"{low}–{high}" for low, high in zip(lows, LENGTHS, strict=False)), f"{lows[-1]} or more"]
    return [(name, some) for name, some in zip(names, bands, strict=True) if some]
