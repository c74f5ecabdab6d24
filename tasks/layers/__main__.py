"""Measure the layers that the paper's Table 1 compares: over the length n at one width, over the width d at one length.

python -m tasks.layers

params.yaml
  -> reports/layers/measured.json    time, operations, memory and longest chain of each layer at each size; in git

All of one layer, forward and backward, for one sequence on one core, in fp32. What the layers are stands in
tasks/layers/layer_types.py; tasks/pages/table1.py makes a page of the measurements.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from datetime import UTC, datetime

import torch

from tasks.common.machine import commit, describe
from tasks.common.paths import MEASURED
from tasks.common.settings import read_layers
from tasks.layers.measure import measure
from transformer.io.errors import run_main
from transformer.io.files import write_json


def main() -> None:
    """Measure, and write what was found."""
    ArgumentParser(
        "python -m tasks.layers", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    ).parse_args()
    settings = read_layers()
    torch.set_num_threads(1)
    points = measure(settings)
    made_by = {"machine": describe(1), "commit": commit(), "date": datetime.now(UTC).isoformat(timespec="seconds")}
    write_json(MEASURED, {**made_by, "settings": settings.model_dump(), "points": points})
    print(f"layers: {len(points)} points measured")


if __name__ == "__main__":
    run_main(main)
