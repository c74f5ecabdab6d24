"""The page that shows what a parser writes: F1 by length, confusions, trees beside those of the treebank.

reports/outputs/E.md     quotes the corpus, so git ignores it; lines are numbered as in data/corpora/C/test.*
reports/outputs/E.png    ten trees beside the treebank's
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TypeVar

from tasks.common.markdown import literal, table
from tasks.scoring.length_buckets import by_length
from tasks.scoring.tree_drawing import TreePair, as_text, draw, has_tags, levels, unmatched
from transformer.io.files import whole_file
from transformer.text.trees import Phrase, Tree

L = TypeVar("L", str, tuple[str, str])

ROWS = 15  # of the tables of labels
DRAWN = 10
EACH = 2  # of the worst, repaired, poor and best of those drawn; the others are typical
# What can be read in a drawing.
WORDS = range(5, 15)
CHARACTERS = 80
LEVELS = 10  # brackets on top of each other

ABOUT = """\
F1 of a sentence is by EVALB's rules, which leave out punctuation and the outermost bracket (TOP); it says which
sentences to look at. The F1 of all of them counts their brackets together, and is not the mean. Everything else on this
page compares all brackets, as label, first word and last word: around punctuation one may be marked although F1 is 100.
Tags are not compared."""


@dataclass(frozen=True)
class Parse:
    """One line of a test split with the treebank's tree and the parser's.

    Attributes:
        line: in data/corpora/C/test.*, from 1.
        gold: the treebank's tree.
        predicted: the parser's, over the same words.
        f1: of this sentence, in percent.
        repaired: the parser's output was no tree over these words before repair.
        cut: the search stopped it at the length limit.
    """

    line: int
    gold: Tree
    predicted: Tree
    f1: float
    repaired: bool
    cut: bool


def write_page(page: Path, title: str, parses: list[Parse]) -> list[Path]:
    """Write PAGE.md and its picture PAGE.png; returns both paths.

    Args:
        page: the path that ends with .md.
        title: the experiment and the test set.
        parses: of all lines, at least one.
    """
    picture = page.with_suffix(".png")
    shown = choose(parses)
    parts = [
        f"# What {literal(title)} looks like",
        _summary(parses),
        ABOUT,
        f"## {len(shown)} trees beside those of the treebank",
        f"Sentences of {WORDS[0]} to {WORDS[-1]} words whose trees fit into a drawing: the worst, the best, poor ones "
        "(F1 nearest to that of which a quarter of all sentences is below), typical ones (nearest to the median), and "
        "of those that needed repair the most typical; of equal ones the longer first.",
        f"![Trees of the treebank and of the parser]({picture.name})",
        "## F1 by length of the sentence",
        _lengths(parses),
        *_labels(parses),
        "## The trees of the picture as text",
        "`-` in the margin: only the treebank has this bracket; `+`: only the parser has it.",
        *(_as_text(name, parse) for name, parse in shown),
    ]
    rows = [TreePair(_heading(name, parse), parse.gold, parse.predicted) for name, parse in shown]
    with whole_file(picture) as temporary:
        draw(title, rows).savefig(temporary, dpi=120, format="png", metadata={"Software": None})
    with whole_file(page) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [page, picture]


def choose(parses: list[Parse]) -> list[tuple[str, Parse]]:
    """The parses to draw, from the worst to the best, each with the reason for which it was chosen."""
    scores = sorted(parse.f1 for parse in parses)
    middle, low = median(scores), scores[len(scores) // 4]
    left = {parse.line: parse for parse in parses if is_drawable(parse)}
    chosen: list[tuple[str, Parse]] = []

    def take(reason: str, number: int, ranks: dict[int, float]) -> None:
        """Take those of lowest rank; of equal ranks the longer sentence says more, and comes first."""
        lines = sorted(ranks, key=lambda line: (ranks[line], -len(left[line].gold.words), line))
        chosen.extend((reason, left.pop(line)) for line in lines[:number])

    def distances(score: float) -> dict[int, float]:
        return {line: abs(parse.f1 - score) for line, parse in left.items()}

    take("worst", EACH, distances(0))
    take("repaired", EACH, {line: rank for line, rank in distances(middle).items() if left[line].repaired})
    take("best", EACH, distances(100))
    take("poor", EACH, distances(low))
    take("typical", DRAWN - len(chosen), distances(middle))
    return sorted(chosen, key=lambda item: (item[1].f1, item[1].line))


def is_drawable(parse: Parse) -> bool:
    """Whether a drawing of both trees can be read."""
    words = parse.gold.words
    fits = len(words) in WORDS and len(" ".join(words)) <= CHARACTERS
    return fits and all(levels(tree)[-1] <= LEVELS + 1 for tree in (parse.gold, parse.predicted))


def confusions(parses: Iterable[Parse]) -> Counter[tuple[str, str]]:
    """How often the parser has another label for the same words: (the treebank's, the parser's)."""
    found: Counter[tuple[str, str]] = Counter()
    for parse in parses:
        invented: defaultdict[tuple[int, int], deque[str]] = defaultdict(deque)
        for label, start, end in _alone(parse.predicted, parse.gold):
            invented[start, end].append(label)
        for label, start, end in _alone(parse.gold, parse.predicted):
            if invented[start, end]:
                found[label, invented[start, end].popleft()] += 1
    return found


def _alone(tree: Tree, other: Tree) -> list[Phrase]:
    """Brackets that the other tree has not."""
    return [phrase for phrase, alone in zip(tree.phrases, unmatched(tree, other), strict=True) if alone]


def _same(parse: Parse) -> bool:
    return Counter(parse.gold.phrases) == Counter(parse.predicted.phrases)


def _share(some: Iterable[object], total: int) -> str:
    """How many are true, in percent."""
    return f"{sum(map(bool, some)) / total:.1%}"


def _summary(parses: list[Parse]) -> str:
    scores = [parse.f1 for parse in parses]
    total = len(parses)
    return (
        f"{total:,} sentences of the test split. F1 of single sentences: mean {mean(scores):.1f}, median "
        f"{median(scores):.1f}. Same brackets as the treebank: {_share(map(_same, parses), total)} of the sentences; "
        f"output repaired to become a tree over the words: {_share((parse.repaired for parse in parses), total)}; cut "
        f"at the length limit: {_share((parse.cut for parse in parses), total)}."
    )


def _lengths(parses: list[Parse]) -> str:
    rows = [
        [
            name,
            f"{len(some):,}",
            f"{mean(parse.f1 for parse in some):.1f}",
            _share(map(_same, some), len(some)),
            _share((parse.repaired for parse in some), len(some)),
            _share((parse.cut for parse in some), len(some)),
        ]
        for name, some in by_length(parses, lambda parse: len(parse.gold.words))
    ]
    return table(["words", "sentences", "F1, mean of sentences", "same brackets", "repaired", "cut"], rows)


def _labels(parses: list[Parse]) -> list[str]:
    """Tables of labels that are missed, invented and confused."""
    gold = Counter(phrase.label for parse in parses for phrase in parse.gold.phrases)
    predicted = Counter(phrase.label for parse in parses for phrase in parse.predicted.phrases)
    missed = Counter(phrase.label for parse in parses for phrase in _alone(parse.gold, parse.predicted))
    invented = Counter(phrase.label for parse in parses for phrase in _alone(parse.predicted, parse.gold))
    rows = [
        [label, *_part(missed[label], gold[label]), *_part(invented[label], predicted[label])]
        for label, _ in _most(missed + invented)
    ]
    header = ["label", "in the treebank", "missed", "share", "in the output", "invented", "share"]
    confused = confusions(parses)
    pairs = [[*labels, f"{count:,}"] for labels, count in _most(confused)]
    return [
        "## Labels most often missed and invented",
        "A bracket is missed if only the treebank has it, invented if only the parser has it. With another label for "
        "the same words, or with a word more or less, it is both.",
        table(header, rows) if rows else "None.",
        "## Labels most often confused",
        f"Another label for the same words: {confused.total():,} of {missed.total():,} missed brackets.",
        table(["treebank", "parser", "times"], pairs) if pairs else "None.",
    ]


def _most(counts: Counter[L]) -> list[tuple[L, int]]:
    """The largest counts, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:ROWS]


def _part(count: int, total: int) -> list[str]:
    """Cells: the total, the part and its share."""
    return [f"{total:,}", f"{count:,}", f"{count / total:.1%}" if total else "–"]


def _heading(name: str, parse: Parse) -> str:
    names = [name, *["repaired"] * (parse.repaired and name != "repaired"), *["cut"] * parse.cut]
    return f"Line {parse.line}, F1 {parse.f1:.1f} ({', '.join(names)})"


def _as_text(name: str, parse: Parse) -> str:
    """Both trees in blocks of code; readers of Markdown that know `diff` colour the marked lines."""
    tags = has_tags(parse.predicted)
    gold = as_text(parse.gold, unmatched(parse.gold, parse.predicted), "-", tags)
    predicted = as_text(parse.predicted, unmatched(parse.predicted, parse.gold), "+", tags)
    blocks = ["\n".join(["```diff", *lines, "```"]) for lines in (gold, predicted)]
    return f"### {_heading(name, parse)}\n\nTreebank:\n\n{blocks[0]}\n\nParser:\n\n{blocks[1]}"
