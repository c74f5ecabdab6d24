"""Energy from made-up counters: zones of powercap as files, and a stand-in for NVIDIA's library."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest
import torch

from tests.transformer.conftest import stop_after
from transformer.io.ranks import Place
from transformer.telemetry import energy
from transformer.telemetry.energy import EnergyCounter
from transformer.trainer import Stopped, Trainer

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
Make = Callable[..., Trainer]


@pytest.fixture
def zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages, the cores within one of them, and the whole board: only packages are to be counted."""
    folder = tmp_path / "powercap"
    names = {"0": "package-0", "0:0": "core", "1": "package-1", "2": "psys"}
    for number, name in names.items():
        zone = folder / f"intel-rapl:{number}"
        zone.mkdir(parents=True)
        (zone / "name").write_text(f"{name}\n")
        (zone / "max_energy_range_uj").write_text("1000000000\n")  # 1000 J
        (zone / "energy_uj").write_text("900000000\n")
    monkeypatch.setattr(energy, "POWERCAP", folder)
    return folder


def rise(folder: Path, joules: dict[str, int]) -> None:
    for number, one in joules.items():
        counter = folder / f"intel-rapl:{number}" / "energy_uj"
        counter.write_text(f"{(int(counter.read_text()) + one * 10**6) % 10**9}\n")


def test_packages_are_summed_and_a_counter_that_began_again_is_understood(zones: Path) -> None:
    counter = EnergyCounter(CPU, ranks=1)
    assert counter.spent() == 0
    rise(zones, {"0": 50, "1": 7, "0:0": 30, "2": 80})
    assert counter.spent() == pytest.approx(57)
    rise(zones, {"0": 60, "1": 1})  # the first passes 1000 J
    assert counter.spent() == pytest.approx(61)


def test_other_machines_are_taken_to_use_as_much(zones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "read_place", lambda: Place(ranks=6, local_ranks=2))
    counter = EnergyCounter(CPU, ranks=6)
    counter.spent()
    rise(zones, {"0": 10})
    assert counter.spent() == pytest.approx(30)


@pytest.mark.parametrize("damage", ["absent", "not ours", "no number"])
def test_where_no_counter_can_be_read_energy_is_unknown(
    zones: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = zones / "intel-rapl:1" / "energy_uj"
    if damage == "absent":
        monkeypatch.setattr(energy, "POWERCAP", zones / "elsewhere")
    elif damage == "not ours":  # as for all but root; a folder, since root may read any file
        counter.unlink()
        counter.mkdir()
    else:
        counter.write_text("\n")
    assert EnergyCounter(CPU, ranks=1).spent() is None


class Boards:
    """What pynvml says of two GPUs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.millijoules = {"GPU-a": 1_000_000, "GPU-b": 2_000_000}
        monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
        monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByUUID", lambda name: name)
        monkeypatch.setattr(pynvml, "nvmlDeviceGetTotalEnergyConsumption", self.millijoules.__getitem__)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: SimpleNamespace(uuid="ab"[number]))


def test_the_boards_of_all_ranks_here_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    boards = Boards(monkeypatch)
    monkeypatch.setattr(energy, "read_place", lambda: Place(ranks=4, local_ranks=2))
    counter = EnergyCounter(GPU, ranks=4)
    assert counter.spent() == 0
    boards.millijoules["GPU-a"] += 300_000
    boards.millijoules["GPU-b"] += 400_000
    assert counter.spent() == pytest.approx(1400)  # two machines


def test_a_gpu_without_a_counter_has_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    Boards(monkeypatch)

    def refuse(board: str) -> int:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetTotalEnergyConsumption", refuse)
    assert EnergyCounter(GPU, ranks=1).spent() is None


def each_reading_is_ten_joules(trainer: Trainer) -> Trainer:
    trainer.meter.energy.spent = lambda: 10.0  # type: ignore[method-assign]
    return trainer


def test_a_training_stores_its_energy_and_a_resume_adds_to_it(make_trainer: Make) -> None:
    first = each_reading_is_ten_joules(make_trainer())
    stop_after(first, 5)
    with pytest.raises(Stopped):
        first.run()
    before = first.progress["energy_joules"]
    assert before >= 10
    second = each_reading_is_ten_joules(make_trainer()).run()
    assert second["energy_joules"] >= before + 10


def test_energy_of_a_training_that_an_older_version_began_is_unknown(make_trainer: Make) -> None:
    first = each_reading_is_ten_joules(make_trainer())
    stop_after(first, 5)
    first.meter.read_energy = lambda: first.progress.pop("energy_joules", None)  # type: ignore[method-assign]
    with pytest.raises(Stopped):
        first.run()
    assert each_reading_is_ten_joules(make_trainer()).run()["energy_joules"] is None


def test_a_reading_is_taken_every_few_seconds_not_at_every_update(make_trainer: Make) -> None:
    trainer, readings = make_trainer(snapshot_every=12), []
    trainer.meter.energy.spent = lambda: readings.append(1) or 1.0  # type: ignore[func-returns-value, method-assign]
    assert trainer.run()["energy_joules"] == pytest.approx(2.0)  # after the first update, and in the last checkpoint
    assert len(readings) == 3


@pytest.mark.skipif(not energy._packages(), reason="this machine has no readable counters of energy")
def test_a_real_counter_rises() -> None:
    counter = EnergyCounter(CPU, ranks=1)
    counter.spent()
    end = torch.randn(2000, 2000)
    for _ in range(5):
        end = end @ end / end.norm()
    spent = counter.spent()
    assert spent is not None
    assert 0 < spent < 1e4
