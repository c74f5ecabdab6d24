"""Word pieces: a word is cut from its beginning on, each time at the longest piece that fits (greedy longest match).

The kind of sub-words of "Google's Neural Machine Translation System" (arXiv 1609.08144, section 4.1), which the paper's
English-French models have (section 5.1). The file is JSON; a piece's id is its place in the list, and one that
begins a word carries U+2581, so that text with single spaces comes back exactly:

    {"kind": "wordpiece", "pieces": ["<pad>", "<unk>", "<s>", "</s>", "\u2581the", "\u2581a", "ing", ...]}
"""

import json
from collections.abc import Sequence
from itertools import chain

from transformer.text.preparation import WORD_START
from transformer.text.special_symbols import SYMBOLS, UNK


class WordPieces:
    """A vocabulary of word pieces and its two directions.

    Args:
        pieces: by id; the four special symbols first, and U+2581 alone among the others.

    ValueError if a piece is there twice, or one of those is missing.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = list(pieces)
        # Without the special ones: their names in a text are text.
        self._ids = {piece: i for i, piece in enumerate(self.pieces) if i >= len(SYMBOLS)}
        if tuple(self.pieces[: len(SYMBOLS)]) != SYMBOLS or WORD_START not in self._ids:
            raise ValueError(f"a list of word pieces begins with {', '.join(SYMBOLS)} and holds {WORD_START}")
        if len(self._ids) != len(self.pieces) - len(SYMBOLS):
            raise ValueError("a word piece is there twice")
        self._longest = max(map(len, self._ids))

    @classmethod
    def read(cls, data: bytes) -> "WordPieces":
        """From the bytes of a file; ValueError if they are none of this kind."""
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("kind") != "wordpiece":
            raise ValueError("no list of word pieces")
        pieces = content.get("pieces")
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            raise ValueError("no list of word pieces")
        return cls(pieces)

    def dump(self) -> bytes:
        """The bytes of the file."""
        content = {"kind": "wordpiece", "pieces": self.pieces}
        return (json.dumps(content, indent=0, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, which is normalised; an unknown character is one unknown id."""
        return [list(chain.from_iterable(map(self._cut, line.split(" ")))) if line else [] for line in lines]

    def _cut(self, word: str) -> list[int]:
        text = WORD_START + word
        ids, start = [], 0
        while start < len(text):
            for end in range(min(len(text), start + self._longest), start, -1):
                if (found := self._ids.get(text[start:end])) is not None:
                    break
            else:
                found, end = UNK, start + 1
            ids.append(found)
            start = end
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids: an unknown one gives U+FFFD, the other special ones nothing."""
        texts = ("\ufffd" if i == UNK else "" if i < len(SYMBOLS) else self.pieces[i] for i in ids)
        return "".join(texts).replace(WORD_START, " ").removeprefix(" ")
