"""Cleaning of parallel text: what a pair must be like to be trained on, each rule with the reason it is counted under.

A `Cleaner` is pickled to the processes that share the work, takes some thousand pairs at once, and gives them back as
the bytes of the corpus's files. Duplicates are found later, by the hashes that it gives, since they lie far apart.
"""

import dataclasses
import html
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.cleaning.languages import learn_sides, other_language, other_script
from tasks.common.settings import Cleaning
from tasks.origins.texts import Pair, is_damaged
from transformer.io.errors import InputError
from transformer.text.preparation import INVISIBLE, normalise

# What the Moses tokeniser writes for characters that are special to it.
ESCAPE = re.compile("&(?:amp|lt|gt|quot|apos|#39|#91|#93|#124);")


class HeldOut(NamedTuple):
    """The normalised lines of valid or test, each side by itself."""

    sources: set[str]
    targets: set[str]


@dataclass
class Cleaned:
    """What is left of some pairs: the lines of each side in UTF-8, with \\n behind each; N pairs."""

    source: bytes
    target: bytes
    words_N2: NDArray[np.int64]  # of source and target, between spaces
    characters_N2: NDArray[np.int64]
    hashes_N: NDArray[np.uint64] | None  # of the pairs, if duplicates are to be found
    read: int  # pairs before cleaning
    counts: Counter[str]  # pairs by "dropped: REASON", "changed: HOW", "overlap: WHERE"

    def only(self, chosen_N: NDArray[np.bool_]) -> "Cleaned":
        """The chosen pairs; what was read and counted stays."""
        source, target = (
            b"".join(itertools.compress(side.splitlines(keepends=True), chosen_N))
            for side in (self.source, self.target)
        )
        return dataclasses.replace(
            self, source=source, target=target, hashes_N=None,
            words_N2=self.words_N2[chosen_N], characters_N2=self.characters_N2[chosen_N],
        )  # fmt: skip


def as_it_is(pairs: Collection[Pair]) -> Cleaned:
    """Pairs of the test: nothing is dropped or changed; counted is what a reader of the scores should know."""
    counts: Counter[str] = Counter()
    for pair in pairs:
        if broken := next((text for text in pair if "\n" in text), None):
            raise InputError(
                f"a line of test has a line break in it, after {broken.partition(chr(10))[0][-40:]!r}: mend it"
            )
        counts["escaped"] += any(map(ESCAPE.search, pair))
        counts["empty"] += not all(map(normalise, pair))
    return _pack(pairs, len(pairs), counts, None)


class Cleaner:
    """Cleans pairs by the settings.

    Args:
        settings: of the corpus.
        held_out: the lines of valid and test, by these names, with which pairs are compared.
    """

    def __init__(self, settings: Cleaning, held_out: dict[str, HeldOut]) -> None:
        self._settings = settings
        self._held_out = held_out
        if {"other script", "other language"} & set(settings.drop):
            self._sides = learn_sides(*(set().union(*side) for side in zip(*held_out.values(), strict=True)))

    def __call__(self, pairs: Collection[Pair]) -> Cleaned:
        """The pairs that are left, as they are trained on."""
        counts: Counter[str] = Counter()
        kept = [cleaned for pair in pairs if (cleaned := self._clean(pair, counts))]
        hashes_N = _hashes(kept) if "duplicate" in self._settings.drop else None
        return _pack(kept, len(pairs), counts, hashes_N)

    def _clean(self, pair: Pair, counts: Counter[str]) -> Pair | None:
        """The pair as it is trained on, if it is; counts what was done."""
        if any(map(is_damaged, pair)):
            counts["dropped: damaged characters"] += 1
            return None
        if any(map(ESCAPE.search, pair)):
            if "escaped" in self._settings.drop:
                counts["dropped: escaped"] += 1
                return None
            counts["changed: escapes undone"] += 1
            pair = _unescape(pair[0]), _unescape(pair[1])
        cleaned = normalise(pair[0]), normalise(pair[1])
        if reason := self._fault(*cleaned) or self._overlap(*cleaned, counts):
            counts[f"dropped: {reason}"] += 1
            return None
        if cleaned != pair:
            counts.update(f"changed: {how}" for how in _changes(pair))
        return cleaned

    def _fault(self, source: str, target: str) -> str | None:
        """Why a pair must be left out, if it must."""
        settings = self._settings
        if not source or not target:
            return "empty"
        if max(len(source), len(target)) > settings.max_characters:
            return "too long"
        fewer, more = sorted((source.count(" ") + 1, target.count(" ") + 1))
        if settings.max_words and more > settings.max_words:
            return "with too many words"
        if settings.max_ratio and more > settings.max_ratio * fewer:
            return "too different in length"
        if "identical" in settings.drop and source == target:
            return "both sides the same"
        if "other script" in settings.drop and any(map(other_script, (source, target), self._sides)):
            return "in another script"
        if "other language" in settings.drop and any(map(other_language, (source, target), self._sides)):
            return "in another language"
        return None

    def _overlap(self, source: str, target: str, counts: Counter[str]) -> str | None:
        """Count where a side is a line of valid or test; why the pair must be left out, if it must."""
        found = False
        for split, (sources, targets) in self._held_out.items():
            if source in sources:
                counts[f"overlap: sources in {split}"] += 1
                found = True
            if target in targets:
                counts[f"overlap: targets in {split}"] += 1
                found = True
        return "also in valid or test" if found and "overlap" in self._settings.drop else None


def _pack(pairs: Collection[Pair], read: int, counts: Counter[str], hashes_N: NDArray[np.uint64] | None) -> Cleaned:
    source, target = ("".join(pair[side] + "\n" for pair in pairs).encode() for side in (0, 1))
    words = [(source.count(" ") + 1, target.count(" ") + 1) for source, target in pairs]
    characters = [(len(source), len(target)) for source, target in pairs]
    words_N2, characters_N2 = (np.array(counted, np.int64).reshape(-1, 2) for counted in (words, characters))
    return Cleaned(source, target, words_N2, characters_N2, hashes_N, read, counts)


def _unescape(text: str) -> str:
    return ESCAPE.sub(lambda match: html.unescape(match[0]), text)


def _changes(pair: Pair) -> list[str]:
    """What normalisation does to a pair that it changes."""
    changes = []
    if any(map(INVISIBLE.search, pair)):
        changes.append("invisible characters removed")
    if not all(unicodedata.is_normalized("NFC", text) for text in pair):
        changes.append("letters and marks composed")
    return changes or ["white space"]


def _hashes(pairs: list[Pair]) -> NDArray[np.uint64]:
    digests = (blake2b("\n".join(pair).encode(), digest_size=8).digest() for pair in pairs)
    return np.frombuffer(b"".join(digests), np.uint64)
