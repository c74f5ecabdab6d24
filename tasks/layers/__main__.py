"""Measure the layers that the paper's Table 1 compares: over the length n at one width, over the width d at one length.

python -m tasks.layers

params.yaml
  -> reports/layers/measured.json    time, operations, memory and longest chain of each layer at each size; in git

All of one layer, forward and backward, for one sequence on one core, in fp32. What the layers are stands in
tasks/layers/layer_types.py; tasks/pages/table1.py makes a page of the measurements.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node, saved_tensors_hooks
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from tasks.common.machine import commit, describe
from tasks.common.paths import MEASURED
from tasks.common.settings import LayersSettings, read_layers
from tasks.layers.layer_types import NAMES, make_layer
from transformer.io.errors import run_main
from transformer.io.files import write_json
from transformer.io.progress import track


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


def measure(settings: LayersSettings) -> list[dict[str, Any]]:
    """One entry for each layer and size.

    Each has `layer`, `n`, `d`; `seconds` and `slowest_seconds` of a forward and backward pass; `operations`, those in
    the matrix products of both; `bytes`, see `kept_bytes`; and `chain`, see `longest_chain`.
    """
    sizes = [(n, settings.width) for n in settings.lengths]
    sizes += [(settings.length, d) for d in settings.widths if d != settings.width]
    points = [(name, n, d) for n, d in sizes for name in NAMES]
    medians = defaultdict(list)
    # In rounds, so that a minute in which the machine is busy spoils no point. What disturbs only slows: the fastest
    # round counts.
    for point in track(points * settings.rounds, "layers", "measurement", len(points) * settings.rounds):
        layer, x_BND = _layer_and_input(*point, settings)
        timer = Timer("work()", globals={"work": _pass(layer, x_BND)}, num_threads=1)
        medians[point].append(timer.blocked_autorange(min_run_time=settings.seconds).median)
    return [
        {
            "layer": point[0],
            "n": point[1],
            "d": point[2],
            "seconds": min(medians[point]),
            "slowest_seconds": max(medians[point]),
            **_counts(*_layer_and_input(*point, settings)),
        }
        for point in points
    ]


def _layer_and_input(name: str, n: int, d: int, settings: LayersSettings) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(settings.seed)
    return make_layer(name, d, settings), torch.randn(1, n, d, requires_grad=True)


def _pass(layer: nn.Module, x_BND: Tensor) -> Callable[[], None]:
    """Forward and backward, with gradients of the input and the weights."""
    gradient_BND = torch.randn_like(x_BND)

    def work() -> None:
        layer.zero_grad()
        x_BND.grad = None
        layer(x_BND).backward(gradient_BND)

    return work


def _counts(layer: nn.Module, x_BND: Tensor) -> dict[str, int]:
    with FlopCounterMode(display=False) as counter:
        _pass(layer, x_BND)()
    operations = counter.get_total_flops()
    return {"operations": operations, "bytes": kept_bytes(layer, x_BND), "chain": longest_chain(layer(x_BND))}


def kept_bytes(layer: nn.Module, x_BND: Tensor) -> int:
    """Bytes that a training holds from the forward to the backward pass: what autograd saved, and the output.

    A storage that serves twice is counted once, weights not at all.
    """
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor  # which autograd holds, so that no other storage comes to lie there

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output_BND = layer(x_BND)
    note(output_BND)
    weights = {weight.untyped_storage().data_ptr() for weight in layer.parameters()}
    return sum(size for place, size in sizes.items() if place not in weights)


def longest_chain(output: Tensor) -> int:
    """The most operations of which each needs the one before it, in autograd's record of the forward pass."""
    assert output.grad_fn is not None
    depths: dict[Node, int] = {}
    path = [output.grad_fn]
    while path:  # a recurrent layer's record is deeper than Python's stack
        node = path[-1]
        before = [input for input, _ in node.next_functions if input is not None]
        open_ones = [input for input in before if input not in depths]
        if open_ones:
            path += open_ones
            continue
        depths[node] = 1 + max((depths[input] for input in before), default=0)
        path.pop()
    return depths[output.grad_fn]


if __name__ == "__main__":
    run_main(main)
