import pytest

from tasks.common.table3_rows import Row, parse_name


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("base", Row("table3", "base", 1)),
        ("big", Row("table3", "big", 1)),
        ("table3-C4", Row("table3", "C4", 1)),
        ("table3-C4-seed3", Row("table3", "C4", 3)),
        ("table3-tiny-base", Row("table3-tiny", "base", 1)),
        ("table3-tiny-E1-seed2", Row("table3-tiny", "E1", 2)),
        *[(name, None) for name in ("tiny", "A1", "table3-C8", "base-2018", "base-en-fr", "table3-tiny", "multi30k")],
    ],
)
def test_a_row_of_table_3_is_told_by_its_name(name: str, row: Row | None) -> None:
    assert parse_name(name) == row
