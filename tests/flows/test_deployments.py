from pathlib import Path

import yaml

CHECKOUT = Path(__file__).parents[2]


def test_there_is_one_for_each_experiment() -> None:
    experiments = yaml.safe_load((CHECKOUT / "params.yaml").read_text(encoding="utf-8"))["experiments"]
    deployments = yaml.safe_load((CHECKOUT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    assert {one["name"]: one["parameters"]["experiments"] for one in deployments} == {
        name: [name] for name in experiments
    }
