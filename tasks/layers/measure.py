"""Time, operations, memory and longest chain of a layer, forward and backward, for one sequence.

Shape suffixes: B sequences (one), N positions, D numbers of each.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node, saved_tensors_hooks
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from tasks.common.settings import LayersSettings
from tasks.layers.layer_types import NAMES, make_layer
from transformer.io.progress import track


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
