"""The layers of Table 1: they are what they are called, and their counted costs grow as the paper says."""

import math

import pytest
import torch
from torch import nn

from tasks.common.settings import LayersSettings
from tasks.layers.layer_types import NAMES, make_layer, restricted_attention
from tasks.layers.measure import _counts, _layer_and_input, kept_bytes, longest_chain, measure
from transformer.model import attention

SETTINGS = LayersSettings(
    lengths=[8, 16, 32], width=8, widths=[4, 8, 16], length=16, d_k=4, kernel=3, neighbourhood=4, rounds=2,
    seconds=1e-4, seed=1,
)  # fmt: skip
# Exponents over n at d = 8 and over d at n = 16, of operations and of the chain over n.
EXPONENTS = {
    "self-attention": (2, 1, 0),
    "recurrent": (1, 2, 1),
    "convolutional": (1, 2, 0),
    "restricted self-attention": (1, 1, 0),
}


@pytest.mark.parametrize("neighbourhood", [2, 4, 12])
def test_restricted_attention_is_attention_within_a_band(neighbourhood: int) -> None:
    torch.manual_seed(1)
    q, k, v = torch.randn(3, 2, 3, 12, 4).double()
    place = torch.arange(12)
    distance = place - place.unsqueeze(1)
    band = (distance >= -neighbourhood // 2) & (distance < neighbourhood // 2)
    expected = attention(q, k, v, band, 0.0, False)
    torch.testing.assert_close(restricted_attention(q, k, v, neighbourhood), expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_layer_maps_a_sequence_to_one_of_its_shape(name: str) -> None:
    layer, x = _layer_and_input(name, 16, 8, SETTINGS)
    assert layer(x).shape == x.shape == (1, 16, 8)


@pytest.mark.parametrize("name", EXPONENTS)
def test_operations_and_chains_grow_as_the_paper_says(name: str) -> None:
    over_n, over_d, chain = EXPONENTS[name]
    small, long, wide = (_counts(*_layer_and_input(name, n, d, SETTINGS)) for n, d in ((64, 8), (128, 8), (64, 16)))
    # A GRU's first step has no state to go back to, hence the tolerance.
    assert math.log2(long["operations"] / small["operations"]) == pytest.approx(over_n, abs=0.02)
    assert math.log2(wide["operations"] / small["operations"]) == pytest.approx(over_d, abs=0.02)
    assert math.log2(long["chain"] / small["chain"]) == pytest.approx(chain, abs=0.02)


def test_counted_operations_are_those_of_the_matrices() -> None:
    n, d, k, r = 64, 8, SETTINGS.kernel, SETTINGS.neighbourhood
    counted = {name: _counts(*_layer_and_input(name, n, d, SETTINGS))["operations"] for name in NAMES}
    # Two products, of two operations a pair, and twice as many in the backward pass.
    assert counted["self-attention"] == 3 * 2 * 2 * n * n * d
    assert counted["self-attention with projections"] == counted["self-attention"] + 3 * 2 * 4 * n * d * d
    assert counted["restricted self-attention"] == 3 * 2 * 2 * n * (2 * r) * d
    assert counted["convolutional"] == 3 * 2 * k * n * d * d


def test_kept_bytes_are_activations_each_storage_once() -> None:
    x = torch.randn(1, 16, 8, requires_grad=True)
    numbers = x.numel() * x.element_size()
    linear = nn.Linear(8, 8)
    assert kept_bytes(linear, x) == 2 * numbers  # its input, for the weights' gradient, and its output
    assert kept_bytes(nn.Sequential(linear, nn.ReLU()), x) == 2 * numbers  # ReLU's output serves it twice
    assert kept_bytes(nn.Sequential(linear, nn.Tanh(), linear), x) == 3 * numbers


def test_the_longest_chain_is_the_longest_way_not_the_number_of_operations() -> None:
    x = torch.randn(3, requires_grad=True)
    one, two = longest_chain(x * 2), longest_chain(x * 2 * 2)
    assert two == one + 1
    assert longest_chain((x * 2) + (x * 3) + (x * 4)) == one + 2


def test_each_size_is_measured_once_for_each_layer() -> None:
    points = measure(SETTINGS)
    assert len(points) == len({(point["layer"], point["n"], point["d"]) for point in points}) == 5 * len(NAMES)
    assert all(0 < point["seconds"] <= point["slowest_seconds"] for point in points)
    assert {point["n"] for point in points if point["d"] == 8} == {8, 16, 32}
    assert {point["d"] for point in points if point["n"] == 16} == {4, 8, 16}


def test_the_same_seed_makes_the_same_layer() -> None:
    first, second = (make_layer("convolutional", 8, SETTINGS) for _ in range(2))
    assert not torch.equal(*(next(layer.parameters()) for layer in (first, second)))
    (first, x), (second, y) = (_layer_and_input("convolutional", 8, 8, SETTINGS) for _ in range(2))
    assert torch.equal(first(x), second(y))
