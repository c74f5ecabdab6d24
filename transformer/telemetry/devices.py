"""The device a process computes on, what it is good at, and how much of its memory was taken."""

import resource
import sys

import torch

from transformer.io.ranks import read_place

# FLOP/s of one GPU, from NVIDIA's data sheets: bf16 on tensor cores without sparsity (the sheets of Hopper and later
# print twice that, "with sparsity"), and fp32 without tensor cores. None: the hardware has no bf16. The first name that
# is part of the device's own counts.
PEAKS: dict[str, tuple[float | None, float]] = {
    "H200 NVL": (835.5e12, 60e12),
    "H200": (989.5e12, 67e12),
    "H100 NVL": (835.5e12, 60e12),
    "H100 PCIe": (756e12, 51e12),
    "H100": (989.5e12, 67e12),
    "A100": (312e12, 19.5e12),
    "A30": (165e12, 10.3e12),
    "A40": (149.7e12, 37.4e12),
    "L40S": (362e12, 91.6e12),
    "L4": (121e12, 30.3e12),
    "RTX 4090": (165.2e12, 82.6e12),
    "RTX 3090": (71e12, 35.6e12),
    "V100-PCIE": (None, 14e12),
    "V100-SXM2": (None, 15.7e12),
    "P100-SXM2": (None, 10.6e12),
    "T4": (None, 8.1e12),
}


def pick_device() -> torch.device:
    """The rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", read_place().local_rank)


def has_bf16(device: torch.device) -> bool:
    """Whether its hardware multiplies in bf16; emulated, that is slower than fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def peak_flops(device: torch.device, bf16: bool) -> float | None:
    """The FLOP/s that the maker claims for matrix products in bf16 or fp32; None for a CPU or an unknown GPU."""
    return published_peak(torch.cuda.get_device_name(device), bf16) if device.type == "cuda" else None


def published_peak(name: str, bf16: bool) -> float | None:
    """`peak_flops` of a GPU with this name, such as "NVIDIA A100-SXM4-80GB"; None for a part of one, or a laptop's."""
    words = name.replace("-", " ").split()
    if {"MIG", "Laptop", "D", "Ti", "SUPER"} & set(words):
        return None
    for known, (in_bf16, in_fp32) in PEAKS.items():
        parts = known.replace("-", " ").split()
        if any(words[i : i + len(parts)] == parts for i in range(len(words))):
            return in_bf16 if bf16 else in_fp32
    return None


def peak_memory(device: torch.device) -> int:
    """The most bytes that this process has held on its GPU, or on a CPU in memory, libraries and all."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
