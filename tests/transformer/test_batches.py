"""Batches: every pair once, padding counted, the same plan however the work is divided."""

import numpy as np
import pytest
import torch

from tests.transformer.conftest import backwards
from transformer.batches import collate, divide, plan_epoch
from transformer.text.subwords import BOS, EOS, PAD

LENGTHS = np.random.default_rng(0).integers(1, 40, (2, 500)).astype(np.int32)


def plan(seed: int = 1, epoch: int = 0, tokens: int = 300) -> list[list[int]]:
    return [batch.tolist() for batch in plan_epoch(*LENGTHS, tokens, seed, epoch)]


def test_every_pair_is_in_exactly_one_batch() -> None:
    assert sorted(i for batch in plan() for i in batch) == list(range(500))


def test_batches_hold_as_many_tokens_as_asked_for_on_either_side_on_average() -> None:
    """The paper's "about 25,000 source and 25,000 target tokens": without padding, no batch much smaller."""
    sizes = [int(LENGTHS[:, batch].sum()) for batch in plan()]
    assert np.mean(sizes) == pytest.approx(2 * 300, rel=0.02)
    assert max(sizes) - min(sizes) <= 2 * 2 * LENGTHS.max()  # a pair more or less at either end


def test_a_pair_longer_than_a_batch_stands_alone() -> None:
    assert [len(batch) for batch in plan(tokens=1)] == [1] * 500


def parts(ranks: int, tokens_per_device: int) -> list[np.ndarray]:
    return divide(np.asarray(plan()[0]), *LENGTHS, ranks, tokens_per_device)


@pytest.mark.fault("F15")
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_part_fits_a_device_padding_counted(ranks: int) -> None:
    for part in parts(ranks, 100):
        assert len(part) <= 1 or len(part) * LENGTHS[:, part].max() <= 100


def test_padding_is_below_3_percent_on_lengths_like_those_of_wmt() -> None:
    random = np.random.default_rng(0)
    common = random.lognormal(3.1, 0.6, 200_000)
    lengths = [np.clip(common * random.lognormal(0, 0.2, common.size), 1, 255).astype(np.uint16) for _ in range(2)]
    real = padded = 0
    for batch in plan_epoch(*lengths, 25_000, seed=1, epoch=0)[::10]:
        for part in divide(batch, *lengths, 8, 4096):
            real += sum(side[part].sum() for side in lengths)
            padded += sum(len(part) * int(side[part].max()) for side in lengths)
    assert 1 - real / padded < 0.03


@pytest.mark.fault("F17")
def test_order_depends_on_seed_and_epoch_alone() -> None:
    assert plan() == plan()
    assert plan(epoch=1) != plan()
    assert plan(seed=2) != plan()


@pytest.mark.fault("F16")
@pytest.mark.parametrize(("ranks", "tokens_per_device"), [(1, 100), (2, 100), (4, 100), (3, 5), (3, 1000)])
def test_ranks_and_accumulation_divide_a_batch_without_rest(ranks: int, tokens_per_device: int) -> None:
    shares = parts(ranks, tokens_per_device)
    assert len(shares) % ranks == 0
    assert sorted(np.concatenate(shares).tolist()) == sorted(plan()[0])


def test_the_parts_are_the_same_however_many_ranks_share_them() -> None:
    """So that accumulation over four parts and four ranks with one each do the same work."""
    divisions = [[part.tolist() for part in parts(ranks, 170)] for ranks in (1, 2, 4)]
    assert divisions[0] == divisions[1] == divisions[2]
    assert len(divisions[0]) == 4


def test_a_batch_of_two_lengths_is_two_runs_of_like_pairs_and_no_part_mixes_them() -> None:
    """Each of two GPUs drew its own batch (Wu et al. 2021): here one rank, or two, have one run or more each."""
    targets = LENGTHS[1]
    lengths = targets + 1, targets
    batches = plan_epoch(*lengths, 300, 1, 0, lengths=2)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(500))
    assert len(batches) == len(plan_epoch(*lengths, 300, 1, 0))
    runs_far_apart = 0
    for batch in batches:
        for ranks, tokens_per_device in ((1, 10_000), (2, 10_000), (3, 150)):
            for part in divide(batch, *lengths, ranks, tokens_per_device, batch_lengths=2):
                # Pairs of other lengths at either end of a run, and one short pair among longer ones.
                assert len(part) < 2 or np.ptp(np.sort(targets[part])[1:]) <= 4, targets[part]
        runs_far_apart += np.ptp(targets[batch]) > 6
    assert runs_far_apart > len(batches) / 2


def test_tensors_carry_begin_and_end_symbols_and_padding_behind() -> None:
    pairs = backwards(5, seed=3)
    batch = collate(pairs, np.array([4, 0, 2]))
    real = torch.zeros(batch.target_BT.numel(), dtype=torch.long)
    real[batch.positions_N] = batch.gold_N
    for row, i in enumerate([4, 0, 2]):
        source, target = pairs.source(i).tolist(), pairs.target(i).tolist()
        assert strip_padding(batch.source_BS[row]) == [*source, EOS]
        assert strip_padding(batch.target_BT[row]) == [BOS, *target]
        assert strip_padding(real.view_as(batch.target_BT)[row]) == [*target, EOS]
        assert batch.mask is not None
        assert int(batch.mask[row].sum()) == len(source) + 1
    assert batch.target_tokens == len(batch.gold_N)
    assert batch.source_tokens == int(batch.mask.sum())


def strip_padding(ids: torch.Tensor) -> list[int]:
    """The ids before the padding, which must be nothing but that."""
    length = int((ids != PAD).sum())
    assert (ids[length:] == PAD).all()
    return ids[:length].tolist()


def test_equal_lengths_need_no_mask() -> None:
    pairs = backwards(50, seed=3)
    length = pairs.source_lengths[0]
    assert collate(pairs, np.flatnonzero(pairs.source_lengths == length)).mask is None
