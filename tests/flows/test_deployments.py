from fnmatch import filter as matching
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).parents[2]
TABLES = {"table3", "table3-tiny"}


def read(name: str, section: str) -> list[str] | list[dict]:  # type: ignore[type-arg]
    return list(yaml.safe_load((CHECKOUT / name).read_text(encoding="utf-8"))[section])


def test_each_runs_the_experiment_of_its_name_or_a_whole_table() -> None:
    runs = {one["name"]: one["parameters"]["experiments"] for one in read("prefect.yaml", "deployments")}
    assert set(runs) >= TABLES
    assert {name: named for name, named in runs.items() if name not in TABLES} == {
        name: [name] for name in runs if name not in TABLES
    }


def test_all_experiments_have_one_and_each_has_experiments() -> None:
    experiments = read("params.yaml", "experiments")
    patterns = [pattern for one in read("prefect.yaml", "deployments") for pattern in one["parameters"]["experiments"]]
    found = {pattern: matching(experiments, pattern) for pattern in patterns}
    assert [pattern for pattern, names in found.items() if not names] == []
    assert {name for names in found.values() for name in names} == set(experiments)


def test_table_3_is_its_rows_at_one_size() -> None:
    experiments = read("params.yaml", "experiments")
    table3, tiny = (
        {name for pattern in one["parameters"]["experiments"] for name in matching(experiments, pattern)}
        for one in read("prefect.yaml", "deployments")
        if one["name"] in TABLES
    )
    assert table3 == {"base", "big"} | {
        name for name in experiments if name.startswith("table3-") and not name.startswith("table3-tiny-")
    }
    assert tiny == {name for name in experiments if name.startswith("table3-tiny-")}
