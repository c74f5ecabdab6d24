from pathlib import Path

import yaml

from flows.deployments import deployments

EXPERIMENTS = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8"))["experiments"]


def test_each_runs_the_experiment_of_its_name_or_a_whole_table() -> None:
    found = deployments(EXPERIMENTS)
    tables = {"table3", "table3-tiny"}
    assert set(found) >= tables | {"tiny", "base", "big", "multi30k-tiny", "parsing-craft"}
    assert all(names == [name] for name, names in found.items() if name not in tables)
    assert {name for names in found.values() for name in names} == set(EXPERIMENTS)


def test_table_3_is_its_rows_at_one_size() -> None:
    found = deployments(EXPERIMENTS)
    assert set(found["table3"]) == {"base", "big", *(f"table3-{row}" for row in rows())}
    assert len(found["table3-tiny"]) == 2 * (len(rows()) + 2)
    assert all(name.startswith("table3-tiny-") for name in found["table3-tiny"])


def rows() -> list[str]:
    return [f"{group}{n + 1}" for group, number in zip("ABCDE", (4, 2, 7, 4, 1), strict=True) for n in range(number)]
