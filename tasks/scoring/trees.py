"""The stage `score` where the target is trees: recall, precision and F1 by the rules of EVALB.

    python -m tasks.score parsing-craft

in:   data/corpora/C/{valid,test}.tree  outputs/E/{valid,test,test.well_formed}.tree
out:  reports/scores/E.json     the figures, the training's facts and curve
      reports/outputs/E.md      what the trees look like, with a picture (quotes the corpus: not in git)

EVALB tells punctuation, whose brackets do not count, by its tags. So that it is the same on both sides, the words of an
output get the gold tags before they are compared; the tags that a model wrote itself are scored by themselves.
"""

import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.common.lines import read_lines, read_parallel
from tasks.evalb.rules import COLLINS, read_rules
from tasks.evalb.scores import VALID, SentenceScore, score_trees, sum_up, with_gold_tags
from tasks.scoring.trees_page import Parse
from transformer.io.errors import InputError
from transformer.text.trees import ANY_TAG, Tree, read_brackets, write_brackets

# By the names of the files of trees: the split, and whether only well-formed outputs are searched.
SEARCHES = {"valid": ("valid", False), "test": ("test", False), "test.well_formed": ("test", True)}
FIGURES = ("recall", "precision", "f1", "complete_match", "recall_all", "f1_all", "complete_match_all")


def score_splits(corpus: Path, outputs: Path) -> tuple[dict[str, Any], list[Parse]]:
    """The figures of each search by its name in `SEARCHES`, and the trees of the test split for their page.

    InputError if the outputs are not over the words of the corpus.
    """
    rules = read_rules(COLLINS)
    scores: dict[str, Any] = {}
    parses: list[Parse] = []
    for stem, (split, _) in SEARCHES.items():
        sides = read_parallel(corpus / f"{split}.tree", outputs / f"{stem}.tree")
        gold, predicted = ([read_brackets(line) for line in side] for side in sides)
        if [tree.words for tree in gold] != [tree.words for tree in predicted]:
            raise InputError(f"{outputs / stem}.tree: its words are not those of {corpus / split}.tree; parse again")
        lines, own = ([write_brackets(tree) for tree in trees] for trees in (gold, predicted))
        scored = score_trees(lines, with_gold_tags(lines, own), rules)
        total = sum_up(scored)
        scores[stem] = {
            "sentences": total.sentences,
            "failed": total.errors + total.skipped,
            **{figure: getattr(total, figure) for figure in FIGURES},
            "tagging": _tagging(gold, predicted),
            "rules": f"tasks/evalb/{COLLINS.name}",
        }
        if stem == "test":
            parses = list(_parses(gold, predicted, scored, outputs))
    return scores, parses


def _tagging(gold: list[Tree], predicted: list[Tree]) -> float | None:
    """Percent of words whose tag is right; None if the model writes no tags."""
    right, written = ([tag for tree in trees for tag in tree.tags] for trees in (gold, predicted))
    if set(written) <= {ANY_TAG}:
        return None
    correct: int = sum(map(operator.eq, right, written))
    return 100 * correct / len(right)


def _parses(gold: list[Tree], predicted: list[Tree], scored: list[SentenceScore], outputs: Path) -> Iterator[Parse]:
    cut, repaired = (set(map(int, read_lines(outputs / f"test.{fault}.txt"))) for fault in ("cut", "repaired"))
    for line, (tree, own, score) in enumerate(zip(gold, predicted, scored, strict=True), start=1):
        brackets = score.gold + score.test
        f1 = 200 * score.matched / brackets if brackets else 100.0 * (score.status == VALID)
        yield Parse(line, tree, own, f1, line in repaired, line in cut)
