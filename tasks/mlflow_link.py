"""The address of MLflow's page that compares runs of experiments: curves, settings and scores side by side.

    python -m tasks.mlflow_link base big

in:   params.yaml
      MLFLOW_TRACKING_URI, or mlflow.db in the project's folder: of each experiment the run that was started last
out:  one line, for a browser on this machine while `make up` runs, or the server's own if the variable names one
"""

import argparse
import json
import os
from pathlib import Path
from urllib.parse import quote

from tasks.mlflow_store import PROJECT, local_uri
from tasks.settings import PARAMS, read_params
from transformer.errors import InputError, did_you_mean, run_main


def compare_page(experiments: list[str]) -> str:
    """Its URL. InputError if params.yaml has no such experiment, or it has no run."""
    known = read_params().experiments
    for name in experiments:
        if name not in known:
            raise InputError(f"{PARAMS}: no experiment {name!r}; {did_you_mean(name, known)}")
    uri = os.environ.get("MLFLOW_TRACKING_URI") or local_uri()
    if uri == local_uri() and not Path("mlflow.db").exists():  # MLflow would make an empty one
        raise InputError(f"no mlflow.db here, so no runs; train first: make reproduce EXPERIMENT={experiments[0]}")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    project = client.get_experiment_by_name(PROJECT)
    runs = []
    for name in experiments:
        query = f"tags.experiment = '{name}'"
        found = project and client.search_runs([project.experiment_id], query, max_results=1)
        if not found:
            raise InputError(f"{uri}: no run of experiment {name!r}; train it first: make reproduce EXPERIMENT={name}")
        runs.append(found[0].info.run_id)
    server = uri if uri.startswith("http") else f"http://127.0.0.1:{os.environ.get('REPRODUCE_MLFLOW_PORT', '5000')}"
    lists = {"runs": runs, "experiments": [project.experiment_id]}
    return f"{server.rstrip('/')}/#/compare-runs?" + "&".join(
        f"{key}={quote(json.dumps(value, allow_nan=False))}" for key, value in lists.items()
    )


def main() -> None:
    """Print the address."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.mlflow_link", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="+", metavar="EXPERIMENT", help="a key of `experiments` in params.yaml")
    print(compare_page(parser.parse_args().experiments))


if __name__ == "__main__":
    run_main(main)
