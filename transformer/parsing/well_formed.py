"""Keeps beam search to well-formed trees: outputs that close what they open and have every word once.

An output that this lets through is one that `trees.restore` need not repair. The hypotheses of a whole batch are
followed in a few tensors, since one by one they would take longer than a small model's step.

Shape suffixes (transformer/__init__.py): B sentences, W hypotheses of each, R hypotheses of all, V vocabulary,
P phrases that can be open at once, L ids that the words of a sentence take in an output.
"""

from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

from transformer.io.errors import InputError
from transformer.text.preparation import WORD_START
from transformer.text.special_symbols import EOS, PAD
from transformer.text.trees import Linearisation, closes, is_word, opens

# So many phrases may begin before one word. No tree of CRAFT has more than 8; a model that repeats itself would fill
# the length limit with brackets.
LONGEST_RUN = 12


class TreeSymbols:
    """Which ids of a vocabulary are the symbols of linearised trees; each symbol is one piece.

    Attributes:
        word_V: True at those in the place of a word; in the form `words` that is a word's own sub-words, any others.
        opening_V: True at those that begin a phrase, if the vocabulary has what ends it.
        closing_V: True at those that end one.
        closed_by_V: for one that begins a phrase the id that ends it, for others that of padding.
        ids: all symbols, a word's own sub-words not among them.

    Args:
        pieces: of the vocabulary, by id, as `Subwords.pieces` gives them.
        form: of the sequences.
        device: of the model.

    InputError if no piece stands for a word.
    """

    def __init__(self, pieces: Sequence[str], form: Linearisation, device: torch.device) -> None:
        symbols = [piece.removeprefix(WORD_START) if piece.startswith(WORD_START) else "" for piece in pieces]
        ends = {symbol[1:]: i for i, symbol in enumerate(symbols) if closes(symbol)}
        closed_by = [ends.get(symbol[1:], PAD) if opens(symbol) else PAD for symbol in symbols]
        self.closed_by_V = torch.tensor(closed_by, device=device)
        self.opening_V = self.closed_by_V != PAD
        self.closing_V = torch.tensor([closes(symbol) for symbol in symbols], device=device)
        self.keeps_words = form == "words"
        # The sub-words of a treebank's text are in the same vocabulary: XX may be one of them.
        self.word_V = torch.tensor([is_word(symbol, form) for symbol in symbols], device=device)
        if self.keeps_words:
            self.word_V = ~self.opening_V & ~self.closing_V
        in_trees_V = self.opening_V if self.keeps_words else self.opening_V | self.word_V
        self.ids = {*in_trees_V.nonzero().flatten().tolist(), *self.closed_by_V[self.opening_V].tolist()}
        if not self.word_V.any():
            raise InputError("the model's sub-words have no symbol for a word of a tree: were they learned from trees?")


class WellFormed:
    """The `search.Constraint` for one batch of sentences.

    An output may open a phrase while words are left, give the next word, close the innermost phrase once it has a word,
    and end when all is closed and no word is left. A phrase is opened only if there is room to close it: so no output
    is cut at the length limit, unless already the words are more than that.

    Args:
        symbols: of the model's vocabulary.
        words: for each sentence the ids of each of its words; in forms without words one id of padding for each.
        limits: the length limit of each, `search.length_limit`.
    """

    def __init__(self, symbols: TreeSymbols, words: Sequence[Sequence[Sequence[int]]], limits: Sequence[int]) -> None:
        self._symbols = symbols
        device = symbols.word_V.device
        texts = [list(chain.from_iterable(sentence)) for sentence in words]
        longest = max(map(len, texts)) + 1
        self._text_BL = torch.tensor([text + [PAD] * (longest - len(text)) for text in texts], device=device)
        # Where a word begins, and behind the last.
        begins = [[i == 0 for word in sentence for i in range(len(word))] for sentence in words]
        self._begins_BL = torch.tensor([some + [True] * (longest - len(some)) for some in begins], device=device)
        left_BW, limits_BW = (
            torch.tensor(numbers, device=device).unsqueeze(1) for numbers in (list(map(len, texts)), limits)
        )
        self._lengths_B = left_BW[:, 0]
        phrases_BW = (limits_BW - left_BW).clamp(min=0) // 2
        none_BW = torch.zeros_like(left_BW)
        # Of each hypothesis: ids of words left, phrases that there is still room for, phrases open, phrases opened
        # since the last other symbol.
        self._counts = [left_BW, phrases_BW, none_BW, none_BW]
        # What ends the open phrases, outer ones first. The last place is that behind the deepest.
        self._stack_BWP = torch.full((len(words), 1, int(phrases_BW.max()) + 1), PAD, device=device)

    def allowed(self, open_R: Tensor) -> Tensor:
        """See `search.Constraint`."""
        left_R, room_R, depth_R, run_R = (count_BW.flatten()[open_R] for count_BW in self._counts)
        sentence_R = open_R // self._counts[0].size(1)
        place_R = self._lengths_B[sentence_R] - left_R
        between_R = self._begins_BL[sentence_R, place_R]
        may_open_R = between_R & (left_R > 0) & (room_R > 0) & (run_R < LONGEST_RUN)
        allowed_RV = may_open_R.unsqueeze(1) & self._symbols.opening_V
        if self._symbols.keeps_words:
            allowed_RV.scatter_(1, self._text_BL[sentence_R, place_R].unsqueeze(1), (left_R > 0).unsqueeze(1))
        else:
            allowed_RV |= (left_R > 0).unsqueeze(1) & self._symbols.word_V
        # Where nothing is open this is any id that ends a phrase, or padding: forbidden already.
        innermost_R = self._stack_BWP.flatten(0, 1)[open_R, depth_R - 1]
        may_close_R = between_R & (depth_R > 0) & (run_R == 0)
        allowed_RV.scatter_(1, innermost_R.unsqueeze(1), may_close_R.unsqueeze(1))
        allowed_RV[:, EOS] = (left_R == 0) & (depth_R == 0)
        return allowed_RV

    def extend(self, parents_BW: Tensor, ids_BW: Tensor) -> None:
        """See `search.Constraint`."""
        symbols, places = self._symbols, self._stack_BWP.size(2)
        kinds = symbols.word_V, symbols.opening_V, symbols.closing_V
        word_BW, opened_BW, closed_BW = (kind_V[ids_BW].long() for kind_V in kinds)
        left_BW, room_BW, depth_BW, run_BW = (count_BW.gather(1, parents_BW) for count_BW in self._counts)
        self._stack_BWP = self._stack_BWP.gather(1, parents_BW.unsqueeze(2).expand(-1, -1, places))
        # The place behind the innermost is free: what is written there counts only if a phrase begins.
        self._stack_BWP.scatter_(2, depth_BW.unsqueeze(2), symbols.closed_by_V[ids_BW].unsqueeze(2))
        # Hypotheses that were given up go on with any ids.
        depth_BW = (depth_BW + opened_BW - closed_BW).clamp(0, places - 1)
        left_BW = (left_BW - word_BW).clamp(min=0)
        self._counts = [left_BW, room_BW - opened_BW, depth_BW, (run_BW + 1) * opened_BW]

    def select(self, sentences: Tensor) -> None:
        """See `search.Constraint`."""
        self._counts = [count_BW[sentences] for count_BW in self._counts]
        self._text_BL, self._begins_BL = self._text_BL[sentences], self._begins_BL[sentences]
        self._lengths_B = self._lengths_B[sentences]
        self._stack_BWP = self._stack_BWP[sentences]
