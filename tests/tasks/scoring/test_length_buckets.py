"""Bands of length: which sentence falls into which, and that those without sentences are left out."""

from tasks.scoring.length_buckets import by_length


def test_bounds_belong_to_the_band_below_and_order_is_kept() -> None:
    assert by_length(["a" * 6, "b" * 5, "c", "d" * 51, "e" * 10], len) == [
        ("1–5", ["b" * 5, "c"]),
        ("6–10", ["a" * 6, "e" * 10]),
        ("51 or more", ["d" * 51]),
    ]
