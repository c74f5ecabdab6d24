"""Batches: every pair once, padding counted, the same plan however the work is divided."""

import numpy as np
import pytest

from tests.transformer.conftest import backwards
from transformer.batches import collate, pieces, plan_epoch
from transformer.subwords import BOS, EOS, PAD

LENGTHS = np.random.default_rng(0).integers(1, 40, (2, 500)).astype(np.int32)


def plan(seed: int = 1, epoch: int = 0, tokens: int = 300) -> list[list[int]]:
    return [batch.tolist() for batch in plan_epoch(*LENGTHS, tokens, seed, epoch)]


def test_every_pair_is_in_exactly_one_batch() -> None:
    assert sorted(i for batch in plan() for i in batch) == list(range(500))


@pytest.mark.fault("F15")
def test_size_is_rows_times_longest_on_both_sides() -> None:
    for batch in plan():
        assert len(batch) * LENGTHS[:, batch].max() <= 300


def test_a_pair_longer_than_a_batch_stands_alone() -> None:
    assert [len(batch) for batch in plan(tokens=1)] == [1] * 500


@pytest.mark.fault("F17")
def test_order_depends_on_seed_and_epoch_alone() -> None:
    assert plan() == plan()
    assert plan(epoch=1) != plan()
    assert plan(seed=2) != plan()


@pytest.mark.fault("F16")
@pytest.mark.parametrize(("ranks", "accumulation"), [(1, 4), (2, 2), (4, 1), (3, 1)])
def test_ranks_and_accumulation_divide_a_batch_without_rest(ranks: int, accumulation: int) -> None:
    batch = np.arange(7)
    shares = [piece for rank in range(ranks) for piece in pieces(batch, ranks, rank, accumulation)]
    assert len(shares) == ranks * accumulation
    assert sorted(np.concatenate(shares)) == list(batch)


def test_tensors_carry_begin_and_end_symbols_and_padding_behind() -> None:
    pairs = backwards(5, seed=3)
    batch = collate(pairs, np.arange(5))
    for row in range(5):
        source, target = pairs.source(row).tolist(), pairs.target(row).tolist()
        assert [i for i in batch.source_BS[row].tolist() if i != PAD] == [*source, EOS]
        assert [i for i in batch.target_BT[row].tolist() if i != PAD] == [BOS, *target]
        assert [i for i in batch.gold_BT[row].tolist() if i != PAD] == [*target, EOS]
        assert batch.mask is not None
        assert int(batch.mask[row].sum()) == len(source) + 1
    assert batch.target_tokens == int(batch.real.sum())
