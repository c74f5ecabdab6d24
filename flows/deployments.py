"""What a Prefect server can start: `prefect deployment run reproduce-paper/tiny`.

    python -m flows.deployments     # at the server that PREFECT_API_URL names; `make up` does it at its own

in:   params.yaml
out:  one deployment for each experiment, and one for each table of many experiments (its key `table`)

Runs take place in this folder, on no copy of it, by a worker of the pool `reproduce`.
"""

import argparse
from pathlib import Path
from typing import Any

import yaml

POOL = "reproduce"
PAPERS_MODELS = (("table3", "base"), ("table3", "big"))  # rows that are more than that
ENTRYPOINT = "flows/reproduce.py:reproduce_paper"


def deployments(experiments: dict[str, Any]) -> dict[str, list[str]]:
    """The experiments that each deployment runs, by its name. Rows of tables but base and big have none of their own.

    Args:
        experiments: the section of params.yaml.
    """
    alone: dict[str, list[str]] = {}
    tables: dict[str, list[str]] = {}
    for name, settings in experiments.items():
        table, row = settings.get("table"), settings.get("row")
        if table:
            tables.setdefault(table, []).append(name)
        if not table or (table, row) in PAPERS_MODELS:
            alone[name] = [name]
    return {**alone, **tables}


def deploy() -> None:
    """Make or renew all deployments at the server."""
    from prefect import get_client
    from prefect.utilities.callables import parameter_schema

    from flows.reproduce import reproduce_paper

    experiments = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))["experiments"]
    schema = parameter_schema(reproduce_paper).model_dump(exclude_unset=True)
    here = {"prefect.deployments.steps.set_working_directory": {"directory": str(Path.cwd())}}
    with get_client(sync_client=True) as client:
        flow = client.create_flow(reproduce_paper)
        for name, names in deployments(experiments).items():
            client.create_deployment(
                flow,
                name,
                entrypoint=ENTRYPOINT,
                work_pool_name=POOL,
                parameters={"experiments": names},
                parameter_openapi_schema=schema,
                pull_steps=[here],
            )


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m flows.deployments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    deploy()
