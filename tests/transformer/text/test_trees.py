"""Trees in brackets, as sequences and back; examples of our own."""

import random

import pytest

from transformer.text.trees import Linearisation, Phrase, Tree, linearise, read_brackets, restore, write_brackets

SINGS = "(TOP (S (NP (NNP Ann)) (VP (VBZ sings)) (. .)))"
LABELS = ("S", "NP", "VP", "PP", "X", "-A", "WHNP")
TAGS = ("NN", ",", "-LRB-", "XX", "``", "NP")
WORDS = ("a", "(", ")", "[b]", "''", "XX", "NP", "é")


def random_tree(draw: random.Random, longest: int = 12) -> Tree:
    """A tree with phrases of any shape: several at the top, chains of one child, words outside of all."""
    length = draw.randint(1, longest)
    spans: set[tuple[int, int]] = {(0, length)} if draw.random() < 0.8 else set()
    for _ in range(draw.randint(0, 2 * longest)):
        start = draw.randrange(length)
        end = draw.randint(start + 1, length)
        if all(end <= a or b <= start or (a <= start and end <= b) or (start <= a and b <= end) for a, b in spans):
            spans.add((start, end))
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    phrases = [Phrase(draw.choice(LABELS), *span) for span in ordered for _ in range(draw.choice((1, 1, 1, 2)))]
    words, tags = ([draw.choice(some) for _ in range(length)] for some in (WORDS, TAGS))
    return Tree(words, tags, phrases)


def test_reads_a_tree() -> None:
    expected = Tree(
        ["Ann", "sings", "."], ["NNP", "VBZ", "."], [Phrase("S", 0, 3), Phrase("NP", 0, 1), Phrase("VP", 1, 2)]
    )
    assert read_brackets(SINGS) == expected
    assert read_brackets("( (S\n  (NP (NNP Ann))\n  (VP (VBZ sings) )\n  (. .)) )") == expected
    assert read_brackets(SINGS.removeprefix("(TOP ").removesuffix(")")) == expected
    assert read_brackets(f"(ROOT{SINGS.removeprefix('(TOP')}") == expected
    assert write_brackets(expected) == SINGS


def test_the_outermost_bracket_may_have_several_children_or_be_a_word() -> None:
    forest = read_brackets("( (NP (NN tea)) (. .) (NP (NN cake)))")
    assert forest.phrases == [Phrase("NP", 0, 1), Phrase("NP", 2, 3)]
    assert linearise(forest, "vinyals") == ["(NP", "XX", ")NP", "XX", "(NP", "XX", ")NP"]
    assert read_brackets("(TOP (UH Yes))") == Tree(["Yes"], ["UH"], [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(S (NP (NN tea))", "1 bracket"),
        ("(S (NP (NN tea))))", "follows"),
        ("(S (NP ) (NN tea))", "NP is empty"),
        ("(S (NN hot tea))", "stands where"),
        ("tea", "stands where"),
        (")", "not opened"),
        ("()", "no words"),
        ("", "no words"),
        (f"{SINGS} {SINGS}", "follows"),
    ],
)
def test_what_is_no_tree_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_brackets(text)


def test_sequences_are_those_of_the_sources() -> None:
    tree = read_brackets(SINGS)
    assert " ".join(linearise(tree, "vinyals")) == "(S (NP XX )NP (VP XX )VP XX )S"
    assert " ".join(linearise(tree, "tensor2tensor")) == "(S (NP (NNP) )NP (VP (VBZ) )VP (.) )S"


@pytest.mark.fault("F31")
@pytest.mark.parametrize("seed", range(300))
def test_trees_come_back_from_brackets_and_from_all_sequences(seed: int) -> None:
    tree = random_tree(random.Random(seed))
    assert read_brackets(write_brackets(tree)) == tree
    assert restore(linearise(tree, "tensor2tensor"), tree.words, "tensor2tensor") == (tree, False)
    untagged = Tree(tree.words, ["XX"] * len(tree.words), tree.phrases)
    assert restore(linearise(tree, "vinyals"), tree.words, "vinyals") == (untagged, False)
    assert restore(linearise(tree, "words"), tree.words, "words") == (untagged, False)


@pytest.mark.fault("F31")
@pytest.mark.parametrize("form", ["vinyals", "tensor2tensor", "words"])
@pytest.mark.parametrize("seed", range(150))
def test_any_sequence_becomes_a_tree_over_the_words(seed: int, form: Linearisation) -> None:
    draw = random.Random(seed)
    tree = random_tree(draw)
    symbols = linearise(tree, form)
    known = [*symbols, *(f"({label}" for label in LABELS), *(f"){label}" for label in LABELS)]
    for _ in range(draw.randint(1, 6)):  # damage
        place = draw.randint(0, len(symbols))
        symbols[place : place + draw.randint(0, 3)] = draw.choices([*known, "word", "(", ")", ""], k=draw.randint(0, 3))
    words = draw.choices(WORDS, k=draw.randint(1, 14))
    restored, repaired = restore(symbols, words, form)
    assert restored.words == words
    assert read_brackets(write_brackets(restored)) == restored
    assert all(phrase.start < phrase.end <= len(words) for phrase in restored.phrases)
    assert repaired == (linearise(restored, form) != symbols)


@pytest.mark.parametrize(
    ("symbols", "repaired"),
    [
        ("", "(TOP (XX a) (XX b))"),
        ("XX", "(TOP (XX a) (XX b))"),
        ("(S XX )S", "(TOP (S (XX a) (XX b)))"),
        ("(S (NP XX )NP", "(TOP (S (NP (XX a)) (XX b)))"),
        ("(S (NP XX XX XX", "(TOP (S (NP (XX a) (XX b))))"),
        ("(S (NP XX )S XX )NP", "(TOP (S (NP (XX a))) (XX b))"),
        ("(S (NP )NP XX XX )S", "(TOP (S (XX a) (XX b)))"),
        ("(S XX XX )S (NP", "(TOP (S (XX a) (XX b)))"),
    ],
)
def test_repair_does_what_it_says(symbols: str, repaired: str) -> None:
    tree, changed = restore(symbols.split(), ["a", "b"], "vinyals")
    assert (write_brackets(tree), changed) == (repaired, symbols != "XX XX")


@pytest.mark.fault("F31")
def test_trees_of_any_depth() -> None:
    deep = Tree(["a"], ["NN"], [Phrase("NP", 0, 1)] * 20_000)
    assert read_brackets(write_brackets(deep)) == deep
    assert restore(linearise(deep, "vinyals"), ["a"], "vinyals")[0].phrases == deep.phrases
    assert len(restore(["(NP"] * 20_000, ["a"], "vinyals")[0].phrases) == 0


@pytest.mark.parametrize(
    ("symbols", "repaired"),
    [
        ("(S (NP the tea )NP (VP is )VP hot )S", "(TOP (S (NP (XX the) (XX tea)) (VP (XX is)) (XX hot)))"),
        ("(S (NP the )NP (VP is )VP hot )S", "(TOP (S (NP (XX the) (XX tea)) (VP (XX is)) (XX hot)))"),
        ("(S (NP the tea tea )NP (VP is )VP hot )S", "(TOP (S (NP (XX the) (XX tea)) (VP (XX is)) (XX hot)))"),
        ("(S (NP a tea )NP (VP is )VP hot )S", "(TOP (S (NP (XX the) (XX tea)) (VP (XX is)) (XX hot)))"),
        ("(S (NP tea )NP (VP is hot )VP )S", "(TOP (S (NP (XX the) (XX tea)) (VP (XX is) (XX hot))))"),
        ("(S (NP so )NP (NP the tea )NP )S", "(TOP (S (NP (XX the) (XX tea) (XX is) (XX hot))))"),
    ],
)
def test_kept_words_are_aligned_with_the_sentence(symbols: str, repaired: str) -> None:
    words = ["the", "tea", "is", "hot"]
    tree, changed = restore(symbols.split(), words, "words")
    assert (write_brackets(tree), changed) == (repaired, symbols.split() != linearise(tree, "words"))
