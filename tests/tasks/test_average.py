"""Averaging as section 6.1 of the paper: the last so many weights, at fixed update numbers, in fp32 or better."""

from pathlib import Path

import pytest
import torch

from tasks import average
from tasks.common.settings import Averaging, read_params
from tests.workspace import ROOT
from transformer.checkpoints import average as mean
from transformer.checkpoints import read_weights, write_tensors
from transformer.io.checkpoint_files import snapshots
from transformer.io.errors import InputError


def write_snapshots(folder: Path, values: dict[int, float]) -> Path:
    """Weights of some updates in which every number is the same."""
    folder.mkdir()
    for update, value in values.items():
        write_tensors(folder / f"snapshot-{update:08d}.safetensors", {"embedding": torch.full((3, 2), value)})
    return folder


@pytest.mark.parametrize(("last", "expected"), [(1, 8.0), (2, 6.0), (3, 14 / 3)])
def test_the_last_are_those_of_the_highest_updates(tmp_path: Path, last: int, expected: float) -> None:
    weights = write_snapshots(tmp_path / "weights", {1000: 8.0, 900: 4.0, 20: 2.0})  # not in the order of writing
    found = mean(average.last(weights, last))
    torch.testing.assert_close(found["embedding"], torch.full((3, 2), expected))


def test_without_averaging_the_model_is_the_last_snapshot_bit_for_bit(tmp_path: Path) -> None:
    weights = write_snapshots(tmp_path / "weights", {10: 0.1, 20: 1 / 3})
    assert torch.equal(mean(average.last(weights, 1))["embedding"], read_weights(snapshots(weights)[-1])["embedding"])


def test_fewer_than_are_to_be_averaged_are_refused(tmp_path: Path) -> None:
    weights = write_snapshots(tmp_path / "weights", {10: 0.1, 20: 0.2})
    with pytest.raises(InputError, match=r"has 2 snapshots, averaging\.last is 5"):
        average.last(weights, 5)


def test_twenty_are_summed_without_loss(tmp_path: Path) -> None:
    """In fp32 each addition would round: 2^24 + 1 is not among its numbers."""
    values = dict.fromkeys(range(2, 21), 1.0)
    weights = write_snapshots(tmp_path / "weights", {1: float(2**24), **values})
    expected = torch.tensor((2**24 + 19) / 20, dtype=torch.float64).float()
    found = mean(average.last(weights, 20))["embedding"]
    assert found.dtype == torch.float32
    assert torch.equal(found, expected.expand(3, 2))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"a": torch.ones(2)}, r"b is missing, in .*snapshot-00000010\.safetensors torch\.int64 \[1\];"),
        ({"a": torch.ones(1), "b": torch.tensor([5])}, r"a is torch\.float32 \[1\], in .* torch\.float32 \[2\];"),
        ({"a": torch.ones(2).bfloat16(), "b": torch.tensor([5])}, r"a is torch\.bfloat16 \[2\], in "),
        (
            {"a": torch.ones(2), "b": torch.tensor([5]), "c": torch.ones(2)},
            r"c is torch\.float32 \[2\], in .* missing",
        ),
    ],
    ids=["a key less", "a shape that fits by broadcasting", "another type", "a key more"],
)
@pytest.mark.parametrize("last", [False, True], ids=["in the middle", "at the end"])
def test_weights_of_another_form_are_refused_by_name(
    tmp_path: Path, other: dict[str, torch.Tensor], said: str, last: bool
) -> None:
    same = {"a": torch.zeros(2), "b": torch.tensor([4])}
    all_of_them = [same, same, other] if last else [same, other, same]
    paths = [tmp_path / f"snapshot-000000{number}0.safetensors" for number in (1, 2, 3)]
    for path, tensors in zip(paths, all_of_them, strict=True):
        write_tensors(path, tensors)
    with pytest.raises(InputError, match=f"snapshot-000000{3 if last else 2}0.safetensors: {said}"):
        mean(paths)


def test_what_is_no_fraction_is_taken_from_the_newest(tmp_path: Path) -> None:
    paths = [tmp_path / f"snapshot-0000000{number}.safetensors" for number in (1, 2)]
    for number, path in enumerate(paths, start=1):
        write_tensors(
            path, {"a": torch.tensor([number]), "b": torch.tensor([number > 1]), "c": torch.tensor([1.0 * number])}
        )
    found = mean(paths)
    assert (found["a"].dtype, found["b"].dtype) == (torch.int64, torch.bool)
    assert (found["a"].item(), found["b"].item(), found["c"].item()) == (2, True, 1.5)


@pytest.mark.parametrize(("experiment", "last"), [("base", 5), ("big", 20)])
def test_the_papers_models_average_as_many_as_the_paper(experiment: str, last: int) -> None:
    settings = read_params(ROOT / "params.yaml").experiments[experiment]
    assert settings.averaging == Averaging(last=last)
    assert settings.training.keep_snapshots >= last
