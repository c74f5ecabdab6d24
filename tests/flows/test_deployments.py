from pathlib import Path

import yaml

CHECKOUT = Path(__file__).parents[2]


def test_each_runs_the_experiment_of_its_name() -> None:
    experiments = yaml.safe_load((CHECKOUT / "params.yaml").read_text(encoding="utf-8"))["experiments"]
    deployments = yaml.safe_load((CHECKOUT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    assert {one["name"]: one["parameters"]["experiments"] for one in deployments} == {
        one["name"]: [one["name"]] for one in deployments
    }
    # A user's own experiments need none: the command line runs them.
    assert {"tiny", "multi30k", "base", "big"} <= {one["name"] for one in deployments} <= set(experiments)
