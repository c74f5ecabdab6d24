"""A parser of raw text: random weights, for whose trees only the words matter."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_model import write_parser
from transformer.io.errors import InputError
from transformer.parsing.parser import Parser
from transformer.text.preparation import normalise
from transformer.text.trees import read_brackets, unescape
from transformer.translator import Translator

LINE = "He (or \"she\") said: “don't {[ ]}” `` '' -LRB-."
LINES = st.text(st.sampled_from("ab ()[]{}\"'`“”’.-LRSCB") | st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return Parser(Translator.load(write_parser(tmp_path_factory.mktemp("models") / "parser")))


def shown(monkeypatch: pytest.MonkeyPatch, folder: Path, line: str, tokenised: bool = False) -> str:
    """What the model of the folder is shown of a line."""
    sources = []

    def encode(self: Translator, lines: list[str]) -> list[list[int]]:
        sources.extend(lines)
        return [[] for _ in lines]

    monkeypatch.setattr(Translator, "encode", encode)
    Parser(Translator.load(folder)).parse_text([line], tokenised)
    return " ".join(sources)


@pytest.mark.fault("F31")
def test_words_with_brackets_and_quotes_survive(parser: Parser) -> None:
    tokenised = "He ( or \" she \" ) said : “ do n't { [ ] } ” `` '' ( ."
    words = tokenised.split()
    (parsed,) = parser.parse_text([LINE])
    assert parsed.tree.words == read_brackets(parsed.text).words == words
    assert parser.parse_text([tokenised], tokenised=True)[0].tree.words == words
    assert "-LRB-" in parsed.text


@pytest.mark.fault("F31")
@settings(max_examples=10, deadline=None)
@given(st.lists(LINES, min_size=8, max_size=8), st.booleans())
def test_the_words_of_a_tree_are_those_of_its_line(parser: Parser, lines: list[str], tokenised: bool) -> None:
    for line, parsed in zip(lines, parser.parse_text(lines, tokenised), strict=True):
        assert "".join(parsed.tree.words) == "".join(unescape(normalise(line)).split())
        assert "\n" not in parsed.text
        if parsed.text:
            assert unescape(" ".join(read_brackets(parsed.text).words)) == unescape(" ".join(parsed.tree.words))


def test_an_empty_line_has_no_tree(parser: Parser) -> None:
    assert [bool(parsed.text) for parsed in parser.parse_text(["", "a b", " \u200b "])] == [False, True, False]


@pytest.mark.parametrize(
    ("pieces", "seen"),
    [
        ("▁`` ▁'' ` ▁/", "`` a '' ` b 's ' c '"),
        ('" ▁/', "\" a \" ' b 's ' c '"),
        ("“ ” ‘ ’ ▁/", "“ a ” ‘ b ’s ’ c '"),
    ],
)
def test_the_model_sees_the_quotes_of_its_treebank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: str, seen: str
) -> None:
    folder = write_parser(tmp_path / "parser", *pieces.split(" "))
    assert shown(monkeypatch, folder, '"a" ‘b’s’ c\'') == seen


def test_hyphens_part_words_where_slashes_do_in_the_treebank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, write_parser(tmp_path / "newer", "▁/"), "a-b/c") == "a - b / c"
    assert shown(monkeypatch, write_parser(tmp_path / "older", "/"), "a-b/c") == "a-b/c"


def test_a_translation_model_is_no_parser(made: Path) -> None:
    with pytest.raises(InputError, match="translates"):
        Parser(Translator.load(made))
