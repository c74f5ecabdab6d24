"""Where long lines are cut, and that nothing is lost there."""

import random

import pytest

from transformer.text.splitting import split


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        ("Here it ends. There it goes on.", 40, ["Here it ends. There it goes on."]),
        ("Here it ends. There it goes on.", 20, ["Here it ends.", "There it goes on."]),
        ("He said “stop.” Then he left (at 7.30 or so.) We waited.", 30,
         ["He said “stop.”", "Then he left (at 7.30 or so.)", "We waited."]),
        ("no sentence ends in here at all", 16, ["no sentence ends", "in here at all"]),
        ("ohnezwischenraum", 10, ["ohnezwis", "chenraum"]),
        ("一句话。又一句话。", 5, ["一句话。", "又一句话。"]),
        ("the end.  ", 8, ["the end."]),
        ("ab", 0, ["a", "b"]),
        ("", 0, [""]),
    ],
)  # fmt: skip
def test_cuts_by_hand(text: str, most: int, parts: list[str]) -> None:
    assert split(text, lambda part: len(part) <= most) == parts


@pytest.mark.fault("F28")
def test_all_parts_fit_and_all_text_is_in_them() -> None:
    draw = random.Random(1)
    for _ in range(300):
        text = "".join(draw.choices(["a", "bc", " ", ".", ". ", "? ", "\u3000", "。", "ü"], k=draw.randint(0, 60)))
        parts = split(text, lambda part: len(part) <= 7)
        assert all(len(part) <= 7 for part in parts)
        assert "".join("".join(parts).split()) == "".join(text.split())
