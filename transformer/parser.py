"""A model of a treebank as a parser: words in, a tree over exactly these words out (section 6.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.errors import InputError
from transformer.search import Hypothesis
from transformer.translator import Translator
from transformer.trees import Tree, restore


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
        if not translator.config.text.trees:
            raise InputError("this model translates: its target is no trees")
        self.translator = translator

    def parse(self, sentences: Sequence[Sequence[str]], show: bool = False) -> list[Parsed]:
        """The tree of each sentence, of the best output that the search finds; `show` draws a progress bar.

        Whatever the words are, brackets and quotes among them, they stand in the tree as they are here.
        """
        outputs = self.translator.search([" ".join(words) for words in sentences], show)
        symbols = [line.split(" ") for line in self.translator.decode(outputs)]
        restored = (restore(*pair) for pair in zip(symbols, sentences, strict=True))
        return [Parsed(tree, output, repaired) for (tree, repaired), output in zip(restored, outputs, strict=True)]
