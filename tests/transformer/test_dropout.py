"""Dropout: the right share of zeros, the mean kept, and nothing at all outside training."""

import pytest
import torch

from transformer.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_of_zeros_is_p_and_the_mean_is_kept(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    y = Dropout(p)(torch.ones(1001, 999, dtype=dtype)).float()
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.002)
    assert y.mean().item() == pytest.approx(1, abs=0.005)
    assert len(y.unique()) == 2


def test_neighbours_are_independent() -> None:
    """Four of them share a random word of 64 bits."""
    torch.manual_seed(1)
    zero = (Dropout(0.5)(torch.ones(400_000)) == 0).float().view(-1, 4)
    assert torch.corrcoef(zero.T).sub(torch.eye(4)).abs().max() < 0.01


def test_the_gradient_has_the_same_zeros() -> None:
    x = torch.ones(50, 50, requires_grad=True)
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_adding_is_the_sum_with_what_is_left() -> None:
    x, y = torch.randn(2, 30, 40)
    torch.manual_seed(1)
    added = Dropout(0.3).add(x, y)
    torch.manual_seed(1)
    torch.testing.assert_close(added, x + Dropout(0.3)(y))


def test_it_follows_the_seed_and_is_off_outside_training() -> None:
    x = torch.randn(100)
    first, second = Dropout(0.3), Dropout(0.3)
    torch.manual_seed(1)
    once = first(x)
    torch.manual_seed(1)
    assert torch.equal(second(x), once)
    assert not torch.equal(second(x), once)
    assert torch.equal(first.eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
