"""How raw text is cut into words, by sentences of our own; and that nothing is lost there."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer.parsing.treebank_words import cut_words, direct_quotes

# Signs, what contractions are made of and what belongs together, next to any other characters.
PARTS = st.sampled_from([*"()[]{}\"'“”‘’`.,:;/-+$%°", "n't", "'s", "''", "--", "...", "U.S.", "cannot", "1,000", " "])
LINES = st.lists(PARTS | st.characters(exclude_categories=["Cs"]) | st.text("ab1 '.", max_size=4)).map("".join)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Ann sings.", "Ann sings ."),
        ("Why (not)?", "Why ( not ) ?"),
        ('"Stop," he said.', '" Stop , " he said .'),
        ('He said: "It works."', 'He said : " It works . "'),
        ("She said ``no''.", "She said `` no '' ."),
        ("“Well” means ‘good’…", "“ Well ” means ‘ good ’ …"),
        ("I don't know who'll win; she's sure.", "I do n't know who 'll win ; she 's sure ."),
        ("We CAN’T, and it’s late", "We CA N’T , and it ’s late"),
        ("You cannot; she's gonna.", "You can not ; she 's gon na ."),
        ("'Tis the dogs' owner of the '90s.", "'T is the dogs ' owner of the '90s ."),
        ("Mr. O'Neill met Dr. Hill, e.g. in Rome (Italy).", "Mr. O'Neill met Dr. Hill , e.g. in Rome ( Italy ) ."),
        ("We left the U.S. for Acme Inc.", "We left the U.S. for Acme Inc ."),
        ("We left the U.S.", "We left the U.S."),
        ("It cost US$1,000.50 at 9:30, or $5, a 10% rise.", "It cost US$ 1,000.50 at 9:30 , or $ 5 , a 10 % rise ."),
        ("Refs. [1,2] at 37°C and 45°", "Refs. [ 1 , 2 ] at 37 °C and 45 °"),
        ("See https://example.org/a,b?c=1(d).", "See https://example.org/a,b?c=1 ( d ) ."),
        ("Write to a.b@example.org, or www.example.org!", "Write to a.b@example.org , or www.example.org !"),
        ("Wait... no--yes – well", "Wait ... no -- yes – well"),
        ("R&D (p<0.05)", "R&D ( p < 0.05 )"),
    ],
)
def test_words_by_hand(line: str, words: str) -> None:
    assert cut_words(line, apart=False) == cut_words(line, apart=True) == words.split()


@pytest.mark.parametrize(
    ("line", "older", "newer"),
    [
        ("short-term and/or 3/4", "short-term and/or 3/4", "short - term and / or 3 / 4"),
        ("Ab1-deficient anti-mouse 2-fold", "Ab1-deficient anti-mouse 2-fold", "Ab1 - deficient anti-mouse 2-fold"),
        ("Ca2+ in Xy+/- mice", "Ca2+ in Xy+/- mice", "Ca2+ in Xy + / - mice"),
        ("the 5'-end", "the 5 ' -end", "the 5 ' - end"),
    ],
)
def test_newer_treebanks_take_words_apart_at_hyphens_and_slashes(line: str, older: str, newer: str) -> None:
    assert cut_words(line, apart=False) == older.split()
    assert cut_words(line, apart=True) == newer.split()


@pytest.mark.fault("F31")
@settings(deadline=None)
@given(LINES, st.booleans())
@example("(.'s)\"", True)
def test_nothing_is_lost_or_changed(line: str, apart: bool) -> None:
    words = cut_words(line, apart)
    assert "".join(words) == "".join(line.split())
    assert not any(word != "".join(word.split()) for word in words)
    assert len(cut_words(direct_quotes(line), apart)) == len(words)


@pytest.mark.parametrize(
    ("line", "directed"),
    [
        ('"Go," he said. "Now."', "“Go,” he said. “Now.”"),
        ('I stay," he said.', "I stay,” he said."),
        ('("yes")', "(“yes”)"),
        ('" yes " , " no "', "“ yes ” , “ no ”"),
        ("none", "none"),
    ],
)
def test_straight_quotes_open_and_close(line: str, directed: str) -> None:
    assert direct_quotes(line) == directed


def test_a_long_line_takes_no_long_time() -> None:
    for line in ("a" * 20_000, "+-" * 3_000, "." * 20_000, "'" * 20_000, 'a.")' * 5_000, "1,000" * 4_000):
        assert "".join(cut_words(line, apart=True)) == line
