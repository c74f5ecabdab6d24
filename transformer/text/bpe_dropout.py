"""BPE-dropout (Provilkov et al. 2020, arXiv 1910.13267): each time a pair is seen, its words are cut in other places.

The words are those of the ids that shards hold. At each step of cutting a word, each merge that is possible is left out
with the probability `dropout`, and the first learned of the others is applied, until none is left: at 0 that is the
usual cut. How a pair is cut is a function of (seed, epoch, pair) alone, so that a training which was stopped goes on as
if it had not been, on any number of ranks.
"""

from random import Random

import numpy as np
from numpy.typing import NDArray

from transformer.io.shards import Pairs
from transformer.text.preparation import WORD_START
from transformer.text.subwords import EOS, UNK, Subwords


class BpeDropout:
    """Cuts pairs anew.

    Args:
        subwords: of the pairs, of kind bpe: word pieces have no merges.
        dropout: probability that a merge is left out.
        seed: of the training.
    """

    def __init__(self, subwords: Subwords, dropout: float, seed: int) -> None:
        self._dropout, self._seed = dropout, seed
        self._pieces = subwords.pieces(range(subwords.size))
        # Merges were learned in the order of their ids.
        self._ids = {piece: i for i, piece in enumerate(self._pieces) if i > EOS}

    def __call__(self, pairs: Pairs, indices: NDArray[np.integer], epoch: int) -> Pairs:
        """The pairs of these indices, in their order, cut as they are in this epoch."""
        sources, targets = [], []
        for i in indices.tolist():
            random = Random(f"{self._seed} {epoch} {i}")
            sources.append(self._sentence(pairs.source(i).tolist(), random))
            targets.append(self._sentence(pairs.target(i).tolist(), random))
        return Pairs.of(sources, targets)

    def _sentence(self, ids: list[int], random: Random) -> list[int]:
        found: list[int] = []
        for word in self._words(ids):
            # What an unknown character was is not known.
            found += word if UNK in word else self.cut("".join(self._pieces[i] for i in word), random)
        return found

    def _words(self, ids: list[int]) -> list[list[int]]:
        words: list[list[int]] = []
        for i in ids:
            if not words or self._pieces[i].startswith(WORD_START):
                words.append([])
            words[-1].append(i)
        return words

    def cut(self, word: str, random: Random) -> list[int]:
        """The ids of a word, which begins with U+2581."""
        symbols = list(word)
        while True:
            first, at = len(self._pieces), -1
            for place in range(len(symbols) - 1):
                merge = self._ids.get(symbols[place] + symbols[place + 1], first)
                if merge < first and random.random() >= self._dropout:
                    first, at = merge, place
            if at < 0:
                return [self._ids[symbol] for symbol in symbols]
            symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
