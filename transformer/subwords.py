"""The sub-word model: text to ids and back, for training and for translation alike."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from transformer import files
from transformer.errors import InputError
from transformer.text import normalise

PAD, UNK, BOS, EOS = 0, 1, 2, 3


class Subwords:
    """A sentencepiece model with the four special ids above.

    `size` is that of its vocabulary, `sha256` the hash of its file. InputError if the file is missing, is no
    sentencepiece model or has other special ids.
    """

    def __init__(self, path: Path) -> None:
        """Load `subwords.model`."""
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.load_from_serialized_proto(path.read_bytes())
        except RuntimeError:
            raise InputError(f"{path}: damaged, or not a sentencepiece model") from None
        ids = (self._model.pad_id(), self._model.unk_id(), self._model.bos_id(), self._model.eos_id())
        if ids != (PAD, UNK, BOS, EOS):
            raise InputError(f"{path}: its ids of pad, unk, bos, eos are {ids}, not {(PAD, UNK, BOS, EOS)}")
        self.size: int = self._model.get_piece_size()
        self.sha256 = files.sha256(path)

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        """The ids of each line, normalised first; without begin and end symbols; empty for a line of white space.

        Where a corpus asks for more than normalising, `Preparation` has done it before.
        """
        ids: list[list[int]] = self._model.encode([normalise(line) for line in lines])
        return ids

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special symbols give nothing, except that an unknown one gives U+FFFD."""
        return [self._model.decode(list(map(int, ids))) for ids in sentences]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id as its vocabulary writes it: a word begins with U+2581, the end symbol is </s>."""
        return [self._model.id_to_piece(i) for i in ids]
