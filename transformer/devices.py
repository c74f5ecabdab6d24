"""The device a process computes on, and what it is good at."""

import os

import torch


def pick_device() -> torch.device:
    """The rank's GPU, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def has_bf16(device: torch.device) -> bool:
    """Whether its hardware multiplies in bf16; emulated, that is slower than fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
