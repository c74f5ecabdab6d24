"""The energy that a training takes, from counters of the hardware, where they can be read.

GPUs: NVIDIA's library NVML gives the millijoules of a board since its driver was loaded (Volta and later). Processors:
Linux gives the microjoules of each package, cores and caches without memory modules, below /sys/class/powercap
("intel-rapl", AMD's too; most systems let only root read it, and a virtual machine has none). What else runs on the
same package or board is counted with it; a host's other parts are not.
"""

import math
from pathlib import Path
from typing import NamedTuple

import pynvml
import torch

from transformer.io.ranks import read_place

POWERCAP = Path("/sys/class/powercap")


class Reading(NamedTuple):
    """A counter's joules, and those at which it begins again at zero."""

    joules: float
    end: float


class EnergyCounter:
    """Counts the joules of all devices of a training.

    Those of the other machines, if there are any, are taken to be as many as this one's.

    Args:
        device: that of this rank: a GPU (then all ranks' GPUs are counted) or the CPU (then all packages).
        ranks: how many compute, on all machines.
    """

    def __init__(self, device: torch.device, ranks: int) -> None:
        self.cuda = device.type == "cuda"
        self.here = read_place().local_ranks
        self.machines = ranks / self.here
        self.last: dict[str, Reading] = {}

    def spent(self) -> float | None:
        """Joules since the last call, 0 at the first; None if the counters cannot be read.

        A processor's counter begins again at zero after some minutes of full load, so that it must be read more often.
        """
        now = _boards(self.here) if self.cuda else _packages()
        last, self.last = self.last or now, now
        if not now or not last or now.keys() != last.keys():
            return None
        return self.machines * sum((now[name].joules - last[name].joules) % now[name].end for name in now)


def _boards(count: int) -> dict[str, Reading]:
    """Those of the first GPUs that this process sees, by their unique names; empty if they cannot be read."""
    try:
        pynvml.nvmlInit()
        names = [f"GPU-{torch.cuda.get_device_properties(number).uuid}" for number in range(count)]
        boards = {name: pynvml.nvmlDeviceGetHandleByUUID(name) for name in names}
        joules = {name: pynvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1e3 for name, board in boards.items()}
    except pynvml.NVMLError:  # no driver of NVIDIA's, an older GPU, or a part of one
        return {}
    return {name: Reading(one, math.inf) for name, one in joules.items()}


def _packages() -> dict[str, Reading]:
    """Those of all processors of this machine, by the zones of powercap; empty if they cannot be read."""
    try:
        zones = [zone for zone in POWERCAP.glob("intel-rapl:*") if (zone / "name").read_text().startswith("package")]
        return {
            zone.name: Reading(_joules(zone / "energy_uj"), _joules(zone / "max_energy_range_uj")) for zone in zones
        }
    except (OSError, ValueError):
        return {}


def _joules(path: Path) -> float:
    return int(path.read_text()) / 1e6
