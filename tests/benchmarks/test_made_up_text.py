"""The made-up corpus: the same text from the same seed, with as many distinct words as were counted and wanted."""

import gzip
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import made_up_text
from transformer.io.errors import InputError


def real_lines(count: int = 400) -> tuple[str, ...]:
    """Lines of 1 to 13 words, every other one of 12,000 that are made of 120 beginnings and 100 endings."""
    draw = random.Random(1).randrange
    return tuple(
        " ".join(["the", *(f"b{draw(120):03d}end{draw(100)} the" for _ in range(n % 7))]) for n in range(count)
    )


def make(lines: tuple[str, ...], pairs: int, path: Path) -> tuple[list[str], dict[str, Any]]:
    lengths = np.array([len(line.split()) for line in lines])
    facts = made_up_text.write_side(lines, lengths, pairs, path)
    return read(path), facts


def read(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_the_text_has_the_words_that_the_law_wants_and_they_are_counted_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_up_text, "CHUNK", 200)
    made, facts = make(real_lines(), 3000, tmp_path / "train.en.gz")
    words = [word for line in made for word in line.split(" ")]
    assert len(made) == 3000
    assert (facts["running_words"], facts["distinct_words"]) == (len(words), len(set(words)))
    wanted = made_up_text.Growth(**facts["growth"]).words(len(words))
    assert wanted > 1.5 * facts["real"]["distinct_words"]
    assert 0.99 * wanted < facts["distinct_words"] < 1.2 * wanted
    assert facts["lengths"]["mean"] == pytest.approx(facts["real"]["lengths"]["mean"], rel=0.05)


def test_the_same_text_each_time_and_another_for_each_language(tmp_path: Path) -> None:
    first, _ = make(real_lines(), 300, tmp_path / "train.en.gz")
    again, _ = make(real_lines(), 300, tmp_path / "train.en.gz")
    other, _ = make(real_lines(), 300, tmp_path / "train.de.gz")
    assert first == again != other


def test_both_languages_join_the_same_pairs(tmp_path: Path) -> None:
    source = tuple(" ".join(f"w{(n + k) % 9}" for k in range(n % 9 + 1)) for n in range(90))  # no word stands once
    target = tuple(line.upper() for line in source)
    lengths = np.array([len(line.split()) for line in source])
    for name, lines in (("s", source), ("t", target)):
        made_up_text.write_side(lines, lengths, 500, tmp_path / f"{name}.gz")
    made = [read(tmp_path / f"{name}.gz") for name in "st"]
    assert [line.upper() for line in made[0]] == made[1] and all(made[0])
    assert len(set(made[0]) - set(source)) > 50


def test_new_words_are_new() -> None:
    real = sorted({word for line in real_lines() for word in line.split()})
    made = list(made_up_text.new_words(real))
    assert len(made) == len(set(made)) > 100 and not set(made) & set(real)


def test_more_pairs_than_there_are_words_for_are_refused(tmp_path: Path) -> None:
    lines = ("one word and another", "and yet one thing more")  # no beginning and no ending stands in two words
    with pytest.raises(InputError, match="ask for fewer"):
        make(lines * 2 + ("longish",), 1000, tmp_path / "train.en.gz")


def test_heaps_law_is_found_again() -> None:
    # Word k is new where the law's curve reaches k, else a word that has been there.
    ids = np.rint(3 * np.arange(1, 20_000) ** 0.6).astype(np.int64)
    assert made_up_text.fit_growth(ids).exponent == pytest.approx(0.6, abs=0.01)


def test_slices_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"europarl.*no such file; REPRO_DATA"):
        made_up_text.read_slices(tmp_path)
    monkeypatch.delenv("REPRO_DATA", raising=False)
    with pytest.raises(InputError, match="REPRO_DATA is not set"):
        made_up_text.data_folder()


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no wmt14-slice: REPRO_DATA is not set")
def test_real_slices_give_at_least_the_words_they_let_one_extrapolate(tmp_path: Path) -> None:
    facts = made_up_text.write_text(made_up_text.data_folder(), 100_000, tmp_path)
    for side in facts.values():
        wanted = made_up_text.Growth(**side["growth"]).words(side["running_words"])
        assert side["distinct_words"] >= wanted > 1.2 * side["real"]["distinct_words"]
        assert side["lengths"]["95"] == pytest.approx(side["real"]["lengths"]["95"], abs=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("test.de", "test.en", "train.de.gz", "train.en.gz", "valid.de", "valid.en")
    ]
