"""Finds repetitions in a stream of any length with 8 bytes for each distinct item."""

import numpy as np
from numpy.typing import NDArray

# Two sorted runs are merged up to this size, so that a merge never needs more than 64 MB for a moment.
_LONGEST_RUN = 2**22


class Seen:
    """The 64-bit hashes seen so far.

    Two different items among n have the same hash with a chance of about n² / 2⁶⁵: 1 in 28,000 for 36 million.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def add(self, hashes_N: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Take in N hashes; returns for each whether it is the first of its value, in all calls together."""
        new, places = np.unique(hashes_N, return_index=True)
        for run in self._runs:
            known = run[np.searchsorted(run[:-1], new)] == new
            new, places = new[~known], places[~known]
        if len(new):
            self._runs.append(new)
            self._merge()
        first_N = np.zeros(len(hashes_N), dtype=bool)
        first_N[places] = True
        return first_N

    def _merge(self) -> None:
        """Keep runs few and long: each is at least twice as long as the next one, or as long as a run may be."""
        runs = self._runs
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]) and len(runs[-2]) + len(runs[-1]) <= _LONGEST_RUN:
            runs[-2:] = [np.sort(np.concatenate(runs[-2:]))]
