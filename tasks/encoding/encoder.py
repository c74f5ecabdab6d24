"""Encodes many lines at once. Sub-words never cross a space, and a corpus has few distinct words beside all its words:
each distinct one is encoded once, and lines are put together from those.
"""

from array import array
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transformer.io.errors import InputError
from transformer.text.preparation import WORD_START, normalise
from transformer.text.subwords import Subwords

CHARACTERS_KEPT = 8_000_000  # of remembered words: a million of usual length, 150 MB


def cut_words(lines: Iterable[str]) -> tuple[pa.ListArray, pa.DictionaryArray]:
    """The words of each line, normalised first, and all of them one after another as places among the distinct ones.

    A line without any has one empty word.
    """
    words = pc.split_pattern(pa.array(map(normalise, lines), pa.string()), " ")
    return words, words.flatten().dictionary_encode()


class Encoder:
    """The ids of lines as the model itself gives them, several times as fast.

    Args:
        model: of either kind. InputError if its pieces cross spaces.
        characters_kept: words are remembered up to so many characters in all, then forgotten together.
    """

    def __init__(self, model: Subwords, characters_kept: int = CHARACTERS_KEPT) -> None:
        pieces = model.pieces(range(model.size))
        # Were there no piece for a space, unknown characters of two words in a row would be one unknown id.
        if WORD_START not in pieces or any(WORD_START in piece[1:] for piece in pieces):
            raise InputError("these sub-words cross spaces; learn them with `python -m tasks.subwords`")
        self._model, self._characters_kept = model, characters_kept
        self._forget()

    def _forget(self) -> None:
        self._ids: dict[str, bytes] = {"": b""}  # of each word, as int32
        self._characters = 0

    def encode(self, lines: Iterable[str]) -> pa.ListArray:
        """The ids of each line (list<int32>), normalised first; without begin and end symbols."""
        words, coded = cut_words(lines)
        distinct = coded.dictionary.to_pylist()
        self._learn(distinct)
        encoded = [self._ids[word] for word in distinct]
        ids = np.frombuffer(b"".join(encoded), np.int32)
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32) // ids.itemsize
        in_order = pa.ListArray.from_arrays(ends, ids).take(coded.indices)
        return pa.ListArray.from_arrays(in_order.offsets.take(words.offsets), in_order.values)

    def _learn(self, words: list[str]) -> None:
        if self._characters > self._characters_kept:
            self._forget()
        new = [word for word in words if word not in self._ids]
        for word, ids in zip(new, self._model.encode(new), strict=True):
            self._ids[word] = array("i", ids).tobytes()
        self._characters += sum(map(len, new))
