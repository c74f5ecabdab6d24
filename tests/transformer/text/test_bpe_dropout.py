"""BPE-dropout: the same text in other pieces, by seed, epoch and pair alone."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.transformer.conftest import SMALL, stop_after
from tests.workspace import ROOT, sentences
from transformer.checkpoints import read_weights
from transformer.io.shards import Pairs
from transformer.settings import TrainingSettings
from transformer.text.bpe_dropout import BpeDropout
from transformer.text.subwords import UNK, Subwords
from transformer.trainer import Stopped, Trainer

TEXT = [*sentences(40, seed=1), ("the red Δcat", "da Δ rota")]
ALL = np.arange(len(TEXT))


@pytest.fixture(scope="module")
def subwords(made: Path) -> Subwords:
    return Subwords(made / "subwords.model")


def pairs_of(subwords: Subwords) -> Pairs:
    sources, targets = (subwords.encode(side) for side in zip(*TEXT, strict=True))
    return Pairs.of(sources, targets)


def cut(subwords: Subwords, dropout: float, seed: int = 1, epoch: int = 0, indices: Any = ALL) -> list[list[int]]:
    pairs = BpeDropout(subwords, dropout, seed)(pairs_of(subwords), indices, epoch)
    return [[*pairs.source(i).tolist(), 0, *pairs.target(i).tolist()] for i in range(len(pairs))]


@hypothesis_settings(deadline=None)
@given(st.text(st.sampled_from("acdeghlnorstu"), min_size=1))
def test_without_dropout_a_word_is_cut_as_by_the_model(subwords: Subwords, word: str) -> None:
    (ids,) = subwords.encode([word])
    if UNK not in ids:
        assert BpeDropout(subwords, 0.0, seed=1).cut(f"\u2581{word}", Random(1)) == ids


def test_the_text_stays_and_its_pieces_become_more(subwords: Subwords) -> None:
    plain = pairs_of(subwords)
    dropped = BpeDropout(subwords, 0.3, seed=1)(plain, ALL, 0)
    for i in ALL:
        before, after = ([pairs.source(i), pairs.target(i)] for pairs in (plain, dropped))
        assert subwords.decode(after) == subwords.decode(before)
    assert 1.1 < len(dropped.source_tokens) / len(plain.source_tokens) < 3
    assert (dropped.source_lengths == np.diff(dropped.source_offsets)).all()


def test_nearly_all_left_out_leaves_single_characters(subwords: Subwords) -> None:
    ids = BpeDropout(subwords, 1 - 1e-12, seed=1).cut("\u2581red", Random(1))
    assert subwords.pieces(ids) == ["\u2581", "r", "e", "d"]


def test_a_cut_depends_on_seed_epoch_and_pair_alone(subwords: Subwords) -> None:
    whole = cut(subwords, 0.3)
    assert cut(subwords, 0.3) == whole
    assert cut(subwords, 0.3, indices=ALL[::-3]) == whole[::-3]
    assert cut(subwords, 0.3, epoch=1) != whole != cut(subwords, 0.3, seed=2)
    assert cut(subwords, 0.0) == cut(subwords, 0.0, epoch=1) == cut(subwords, 0.0, seed=2)


def trainer(subwords: Subwords, folder: Path, bpe_dropout: float) -> Trainer:
    settings = TrainingSettings(
        updates=8, tokens_per_update=120, tokens_per_device=60, warmup=100, learning_rate_factor=1.0, beta2=0.98,
        lengths_per_update=1, label_smoothing=0.1, bpe_dropout=bpe_dropout, precision="fp32", compile=False,
        snapshot_every=8, keep_snapshots=1, validate_every=100, seed=1,
    )  # fmt: skip
    pairs, model = pairs_of(subwords), SMALL.model_copy(update={"dropout": 0.0})
    return Trainer(model, settings, subwords.size, pairs, pairs, folder, subwords=subwords)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_weights(folder / "snapshot-00000008.safetensors")


def test_a_training_that_was_stopped_sees_the_same_pieces(subwords: Subwords, tmp_path: Path) -> None:
    trainer(subwords, tmp_path / "through", 0.3).run()
    first = trainer(subwords, tmp_path / "stopped", 0.3)
    stop_after(first, 3)
    with pytest.raises(Stopped):
        first.run()
    trainer(subwords, tmp_path / "stopped", 0.3).run()
    trainer(subwords, tmp_path / "plain", 0.0).run()
    through, stopped, plain = (weights(tmp_path / name) for name in ("through", "stopped", "plain"))
    assert all(torch.equal(through[key], stopped[key]) for key in through)
    assert not all(torch.equal(through[key], plain[key]) for key in through)


def test_a_batch_is_divided_by_the_lengths_without_dropout(subwords: Subwords, tmp_path: Path) -> None:
    plain, dropped = (trainer(subwords, tmp_path, dropout)._parts(ALL, epoch=0) for dropout in (0.0, 0.5))
    assert len(plain) > 2
    assert [part.tolist() for part, _ in plain] == [part.tolist() for part, _ in dropped]
    assert sum(batch.target_tokens for _, batch in dropped) > 1.2 * sum(batch.target_tokens for _, batch in plain)


@pytest.mark.fault("F20")
def test_the_tokens_that_count_are_those_after_dropout(subwords: Subwords, tmp_path: Path) -> None:
    made = trainer(subwords, tmp_path / "one", 0.3)
    indices = np.arange(10, dtype=np.int32)
    made.step(1, indices)
    expected = BpeDropout(subwords, 0.3, seed=1)(pairs_of(subwords), indices, 0)
    assert made.meter.totals["target_tokens"] == len(expected.target_tokens) + 10
    assert made.meter.totals["source_tokens"] == len(expected.source_tokens) + 10


JOB = """
import sys
from pathlib import Path
import torch
import torch.distributed as dist
from tests.transformer.text.test_bpe_dropout import trainer
from transformer.text.subwords import Subwords

torch.set_num_threads(1)
dist.init_process_group("gloo")
trainer(Subwords(Path(sys.argv[1])), Path(sys.argv[2]), 0.3).run()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_ranks_see_the_same_pieces_as_one(made: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    for ranks in (1, 2):
        subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", str(tmp_path / "job.py"),
             str(made / "subwords.model"), str(tmp_path / str(ranks))],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=240,
        )  # fmt: skip
    one, two = weights(tmp_path / "1"), weights(tmp_path / "2")
    for key in one:
        torch.testing.assert_close(one[key], two[key], atol=1e-5, rtol=1e-4)
