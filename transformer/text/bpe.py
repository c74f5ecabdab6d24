"""Byte-pair encoding (section 5.1): a sentencepiece model, whose own file format (protobuf) it keeps."""

from collections.abc import Sequence

import sentencepiece


class Bpe:
    """A sentencepiece model.

    Args:
        data: the bytes of its file.

    ValueError if they are no such model.
    """

    def __init__(self, data: bytes) -> None:
        self._model = sentencepiece.SentencePieceProcessor()
        try:
            self._model.load_from_serialized_proto(data)
        except RuntimeError:
            raise ValueError("no sentencepiece model") from None
        self.pieces: list[str] = self._model.id_to_piece(list(range(self._model.get_piece_size())))

    @property
    def special(self) -> tuple[int, int, int, int]:
        """The ids of padding, unknown, begin and end; -1 for one that it has not."""
        return self._model.pad_id(), self._model.unk_id(), self._model.bos_id(), self._model.eos_id()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, which is normalised; unknown characters in a row are one unknown id."""
        ids: list[list[int]] = self._model.encode(lines)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids: an unknown one gives what the model was trained to say, other special ones nothing."""
        return str(self._model.decode(ids))
