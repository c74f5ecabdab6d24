"""A model of a treebank as a parser: words in, a tree over exactly these words out (section 6.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from transformer.io.errors import InputError
from transformer.parsing.treebank_words import cut_words, direct_quotes
from transformer.parsing.well_formed import TreeSymbols, WellFormed
from transformer.search import Hypothesis, length_limit
from transformer.text.preparation import WORD_START, normalise
from transformer.text.special_symbols import PAD
from transformer.text.subwords import UNK
from transformer.text.trees import Tree, kept_word, restore, unescape, write_brackets
from transformer.translator import Translator

# What a treebank may have in the place of a sign that it does not have.
_INSTEAD = {"“": ('"', "``"), "``": ("“", '"'), "”": ('"', "''"), "''": ("”", '"'), "‘": ("`", "'"), "’": ("'",)}


@dataclass
class Parsed:
    """The tree over a sentence's words, the output that it was made from, and whether that needed repair."""

    tree: Tree
    output: Hypothesis
    repaired: bool

    @property
    def text(self) -> str:
        """The tree in brackets, on one line; empty if there are no words."""
        return write_brackets(self.tree) if self.tree.words else ""


class Parser:
    """Parses sentences that are cut into words already.

    Args:
        translator: of words into trees. InputError if it is one of another kind.
    """

    def __init__(self, translator: Translator) -> None:
        if translator.config.text.trees is None:
            raise InputError("this model translates: its target is no trees")
        self.translator, self._form = translator, translator.config.text.trees
        subwords = translator.subwords
        pieces = subwords.pieces(range(subwords.size))
        self._symbols = TreeSymbols(pieces, self._form, translator.model.embedding.device)
        # Newer treebanks take words apart at hyphens and slashes. By slashes they are told: `/` is then a word that one
        # piece stands for, while that of the WSJ is always inside of one (and/or).
        self._apart = len(subwords.encode(["/"])[0]) == 1
        self._signs = {
            sign: min((sign, *others), key=lambda one: self._strangeness(one)[0]) for sign, others in _INSTEAD.items()
        }

    def parse(self, sentences: Sequence[Sequence[str]], show: bool = False, well_formed: bool = False) -> list[Parsed]:
        """The tree of each sentence, of the best output that the search finds; `show` draws a progress bar.

        Brackets and quotes among the words stand in the tree as they are here. A sentence of more sub-words than the
        translator takes at once is not searched: its words are in one flat tree, as where an output needs repair.

        `well_formed` lets the search find only outputs that are trees over the words: none needs repair, except for
        words in which nothing is visible, where a sentence has more of them than its length limit has room for.
        """
        sources = self.translator.encode([" ".join(words) for words in sentences])
        seen = [self._seen(*pair) for pair in zip(sentences, sources, strict=True)]
        constrain = self._constrain(seen, sources) if well_formed else None
        searched = [source if len(source) <= self.translator.most else [] for source in sources]
        outputs = [best for best, *_ in self.translator.search_ids(searched, 1, show, constrain)]
        return [self._parsed(*each) for each in zip(sentences, seen, outputs, strict=True)]

    def parse_text(self, lines: Sequence[str], tokenised: bool = False, well_formed: bool = False) -> list[Parsed]:
        """The tree of each line of raw text, which is one sentence; one without words for an empty line.

        The words of a tree are those of its line, less what `normalise` takes from any text: invisible characters, and
        other forms of the same letters. The model is shown quotes as its treebank has them. -LRB- and its like stand
        for brackets, as in trees.

        Args:
            lines: no line breaks in them.
            tokenised: the words are what spaces part. Else the line is cut (transformer/parsing/treebank_words.py).
            well_formed: as for `parse`.
        """
        texts = [unescape(normalise(line)) for line in lines]
        # With straight quotes directed a line has the same words, but for these.
        shown = [list(map(self._as_in_training, self._words(direct_quotes(text), tokenised))) for text in texts]
        found = self.parse(shown, well_formed=well_formed)
        for parsed, text in zip(found, texts, strict=True):
            parsed.tree.words = self._words(text, tokenised)
        return found

    def _words(self, text: str, tokenised: bool) -> list[str]:
        return text.split() if tokenised else cut_words(text, self._apart)

    def _as_in_training(self, word: str) -> str:
        """The word with a quote or apostrophe that its treebank has."""
        if word in self._signs:
            return self._signs[word]
        straight = word.replace("’", "'")
        return word if word == straight else min(word, straight, key=self._strangeness)

    def _strangeness(self, word: str) -> tuple[int, int]:
        """Its unknown sub-words, then all."""
        ids = self.translator.subwords.encode([word])[0]
        return ids.count(UNK), len(ids)

    def _seen(self, words: Sequence[str], source: list[int]) -> list[str]:
        """The words as the model writes them, if it does: normalised, with its mark for what it does not know."""
        if self._form != "words":
            return list(words)
        subwords = self.translator.subwords
        seen = subwords.decode([source])[0].split(" ")
        if len(seen) != len(words):  # in one of them nothing is visible
            seen = list(words)
        return subwords.decode(subwords.encode(map(kept_word, seen)))

    def _parsed(self, words: Sequence[str], seen: list[str], output: Hypothesis) -> Parsed:
        tree, repaired = restore(self._written(output), seen, self._form)
        return Parsed(replace(tree, words=list(words)), output, repaired and bool(words))

    def _written(self, output: Hypothesis) -> list[str]:
        """The output as symbols and words: a bracket is what the vocabulary has as one, not a word that begins so."""
        written: list[tuple[bool, str]] = []  # whether it is one of the tree's symbols, and how it is spelled
        inside = False  # of a word
        for i, piece in zip(output.ids, self.translator.subwords.pieces(output.ids), strict=True):
            symbol, text = i in self._symbols.ids, "\ufffd" if i == UNK else piece.removeprefix(WORD_START)
            if inside and not symbol and not piece.startswith(WORD_START):
                written[-1] = (False, written[-1][1] + text)
            else:
                written.append((symbol, text))
            inside = not symbol
        return [text if symbol else kept_word(text) for symbol, text in written]

    def _constrain(self, sentences: list[list[str]], sources: list[list[int]]) -> Callable[[list[int]], WellFormed]:
        """Makes the constraint for some of the sentences, which have these ids."""
        translator, settings = self.translator, self.translator.config.search

        def ids(words: list[str]) -> list[list[int]]:
            return translator.subwords.encode(words) if self._form == "words" else [[PAD]] * len(words)

        def constrain(rows: list[int]) -> WellFormed:
            limits = [length_limit(sources[row], settings) for row in rows]
            return WellFormed(self._symbols, [ids(sentences[row]) for row in rows], limits)

        return constrain
