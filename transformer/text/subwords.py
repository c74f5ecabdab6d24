"""The sub-word model: text to ids and back, for training and for translation alike.

Byte-pair encoding or word pieces; the file `subwords.model` says which: one of word pieces is JSON, with a `kind`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from transformer.io import files
from transformer.io.errors import InputError
from transformer.text.bpe import Bpe
from transformer.text.preparation import normalise
from transformer.text.special_symbols import BOS, EOS, PAD, UNK
from transformer.text.wordpieces import WordPieces

__all__ = ["BOS", "EOS", "PAD", "UNK", "Subwords"]


class Subwords:
    """A sub-word model of either kind with the four special ids above.

    `kind` is "bpe" or "wordpiece", `size` that of its vocabulary, `sha256` the hash of its file. InputError if the file
    is missing, is no sub-word model or has other special ids.
    """

    def __init__(self, path: Path) -> None:
        """Load `subwords.model`."""
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        self.path = path
        data = path.read_bytes()
        self.kind = "wordpiece" if data[:1] == b"{" else "bpe"
        try:
            self._model = WordPieces.read(data) if self.kind == "wordpiece" else Bpe(data)
        except ValueError as error:
            raise InputError(f"{path}: damaged, or not a sub-word model ({error})") from None
        if isinstance(self._model, Bpe) and self._model.special != (PAD, UNK, BOS, EOS):
            ids = self._model.special
            raise InputError(f"{path}: its ids of pad, unk, bos, eos are {ids}, not {(PAD, UNK, BOS, EOS)}")
        self.size = len(self._model.pieces)
        self.sha256 = files.sha256(path)

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        """The ids of each line, normalised first; without begin and end symbols; empty for a line of white space.

        Where a corpus asks for more than normalising, `Preparation` has done it before.
        """
        return self._model.encode([normalise(line) for line in lines])

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special symbols give nothing, except that an unknown one gives U+FFFD."""
        return [self._model.decode(list(map(int, ids))) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id as its vocabulary writes it: a word begins with U+2581, the end symbol is </s>."""
        return [self._model.pieces[i] for i in ids]
