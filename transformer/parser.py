"""A model of a treebank as a parser: words in, a tree over exactly these words out (section 6.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from transformer.errors import InputError
from transformer.search import Hypothesis, length_limit
from transformer.special_symbols import PAD
from transformer.translator import Translator
from transformer.tree_search import TreeSymbols, WellFormed
from transformer.trees import Tree, kept_word, restore


@dataclass
class Parsed:
    """The tree over a sentence's words, the output that it was made from, and whether that needed repair."""

    tree: Tree
    output: Hypothesis
    repaired: bool


class Parser:
    """Parses sentences that are cut into words already.

    Args:
        translator: of words into trees. InputError if it is one of another kind.
    """

    def __init__(self, translator: Translator) -> None:
        if translator.config.text.trees is None:
            raise InputError("this model translates: its target is no trees")
        self.translator, self._form = translator, translator.config.text.trees

    def parse(self, sentences: Sequence[Sequence[str]], show: bool = False, well_formed: bool = False) -> list[Parsed]:
        """The tree of each sentence, of the best output that the search finds; `show` draws a progress bar.

        Whatever the words are, brackets and quotes among them, they stand in the tree as they are here.

        `well_formed` lets the search find only outputs that are trees over the words: none needs repair, except for
        words in which nothing is visible, where a sentence has more of them than its length limit has room for.
        """
        sources = self.translator.encode([" ".join(words) for words in sentences])
        seen = [self._seen(*pair) for pair in zip(sentences, sources, strict=True)]
        constrain = self._constrain(seen, sources) if well_formed else None
        outputs = [best for best, *_ in self.translator.search_ids(sources, 1, show, constrain)]
        return [self._parsed(*each) for each in zip(sentences, seen, outputs, strict=True)]

    def _seen(self, words: Sequence[str], source: list[int]) -> list[str]:
        """The words as the model sees them: normalised, with its mark for what it does not know."""
        subwords = self.translator.subwords
        seen = subwords.decode([source])[0].split(" ")
        if len(seen) != len(words):  # in one of them nothing is visible
            seen = list(words)
        return subwords.decode(subwords.encode(map(kept_word, seen))) if self._form == "words" else seen

    def _parsed(self, words: Sequence[str], seen: list[str], output: Hypothesis) -> Parsed:
        tree, repaired = restore(self.translator.decode([output])[0].split(" "), seen, self._form)
        return Parsed(replace(tree, words=list(words)), output, repaired)

    def _constrain(self, sentences: list[list[str]], sources: list[list[int]]) -> Callable[[list[int]], WellFormed]:
        """Makes the constraint for some of the sentences, which have these ids."""
        translator, settings = self.translator, self.translator.config.search
        pieces = translator.subwords.pieces(range(translator.subwords.size))
        symbols = TreeSymbols(pieces, self._form, translator.model.embedding.device)

        def ids(words: list[str]) -> list[list[int]]:
            return translator.subwords.encode(words) if self._form == "words" else [[PAD]] * len(words)

        def constrain(rows: list[int]) -> WellFormed:
            limits = [length_limit(sources[row], settings) for row in rows]
            return WellFormed(symbols, [ids(sentences[row]) for row in rows], limits)

        return constrain
