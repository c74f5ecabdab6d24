"""Table 1's page: the paper's rows, fitted exponents, and nothing where nothing ran."""

from typing import Any

import pytest
import yaml

from tasks.common.document import as_markdown, markdown
from tasks.pages.table1 import exponent, exponents, faster, line, table1
from tasks.results.stored import PAPER

PRINTED = yaml.safe_load(PAPER.read_text())
POWERS = {"self-attention with projections": (2, 1), "recurrent": (1, 2), "self-attention": (2, 1)}


def layers(scale: float = 1.0) -> dict[str, Any]:
    """Times that follow the powers exactly, but for those of the smallest size; attention is faster for n < d."""
    sizes = [(8, 32), (16, 32), (32, 32), (64, 32), (16, 8), (16, 16), (16, 64)]
    points = []
    for layer, (over_n, over_d) in POWERS.items():
        factor = scale if "projections" in layer else 1.0
        for n, d in sizes:
            cost = factor * n**over_n * d**over_d
            seconds = cost * 1e-6 + (5.0 if min(n, d) == 8 else 0.0)
            chain = n if layer == "recurrent" else 7
            points.append({
                "layer": layer, "n": n, "d": d, "seconds": seconds, "slowest_seconds": 2 * seconds,
                "operations": cost, "bytes": 4 * n, "chain": chain,
            })  # fmt: skip
    settings = {"width": 32, "length": 16, "kernel": 3, "neighbourhood": 4, "d_k": 8, "rounds": 3}
    machine = {"device": "some processor, 1 thread(s)", "torch": "2"}
    return {
        "points": points, "settings": settings, "machine": machine, "commit": "0123456789abcdef",
        "date": "2026-11-29T10:00:00+00:00",
    }  # fmt: skip


def test_the_papers_rows_are_as_printed() -> None:
    page = markdown(table1(None, PRINTED))
    for row in (
        "| self-attention | O(n² · d) | O(1) | O(1) |",
        "| recurrent | O(n · d²) | O(n) | O(n) |",
        "| convolutional | O(k · n · d²) | O(1) | O(log_k(n)) |",
        "| restricted self-attention | O(r · n · d) | O(1) | O(n / r) |",
    ):
        assert row in page


def test_without_a_measurement_the_page_says_so_and_how_to_make_one() -> None:
    page = markdown(table1(None, PRINTED))
    assert "Not run: `dvc repro layers`" in page
    assert "Over n" not in page


def test_exponents_stand_beside_the_papers_and_are_those_of_the_largest_sizes() -> None:
    found = as_markdown(exponents(layers(), PRINTED))
    assert "| self-attention | n² · d | n | 2 | 2.00 | 2.00 | 1.00 | 0.00 |" in found
    assert "| self-attention | n² · d | d | 1 | 1.00 | 1.00 | 0.00 | 0.00 |" in found
    assert "| self-attention with projections | n² · d + n · d² | n | – | 2.00 | 2.00 | 1.00 | 0.00 |" in found
    assert "| recurrent | n · d² | n | 1 | 1.00 | 1.00 | 1.00 | 1.00 |" in found
    assert "| recurrent | n · d² | d | 2 | 2.00 | 2.00 | 0.00 | 0.00 |" in found


def test_an_exponent_is_a_slope_between_logarithms() -> None:
    points = [{"n": n, "seconds": 3 * n**1.5} for n in (2, 4, 8, 16)]
    assert exponent(points, "n", lambda point: point["seconds"]) == pytest.approx(1.5)


def test_a_line_holds_the_other_size_fixed() -> None:
    assert [(point["n"], point["d"]) for point in line(layers(), "recurrent", "d")] == [
        (16, 8), (16, 16), (16, 32), (16, 64)
    ]  # fmt: skip


def test_sizes_noise_machine_and_commit_are_on_the_page() -> None:
    page = markdown(table1(layers(), PRINTED))
    for expected in ("Over d, at n = 16", "| recurrent | 5e+03 ms", "2.0 times as long", "some processor", "01234567"):
        assert expected in page


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (1.0, "at lengths 8, 16, and slower at 32, 64"),
        (1e-3, "faster here at each length measured, up to 64"),
        (1e3, "slower here at each length"),
    ],
)
def test_where_attention_beats_recurrence_is_read_from_the_times(scale: float, said: str) -> None:
    assert said in faster(layers(scale))
