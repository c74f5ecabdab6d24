"""Published peaks, by the names under which drivers know the GPUs."""

import psutil
import pytest
import torch

from transformer.telemetry.devices import peak_flops, peak_memory, published_peak


@pytest.mark.parametrize(
    ("name", "bf16", "fp32"),
    [
        ("NVIDIA H100 80GB HBM3", 989.5e12, 67e12),
        ("NVIDIA H100 PCIe", 756e12, 51e12),
        ("NVIDIA H200", 989.5e12, 67e12),
        ("NVIDIA A100-SXM4-80GB", 312e12, 19.5e12),
        ("NVIDIA L4", 121e12, 30.3e12),
        ("NVIDIA L40S", 362e12, 91.6e12),
        ("Tesla V100-SXM2-16GB", None, 15.7e12),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", None, None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None, None),
        ("NVIDIA A1000", None, None),
        ("NVIDIA GeForce RTX 3090 Ti", None, None),
    ],
)
def test_a_gpu_has_the_peak_of_its_data_sheet(name: str, bf16: float | None, fp32: float | None) -> None:
    assert (published_peak(name, bf16=True), published_peak(name, bf16=False)) == (bf16, fp32)


def test_no_peak_is_claimed_for_a_cpu() -> None:
    assert peak_flops(torch.device("cpu"), bf16=True) is None


def test_memory_of_a_process_is_in_bytes() -> None:
    taken = torch.ones(25_000_000)
    now = psutil.Process().memory_info().rss
    # The kernel brings its counters up to date now and then.
    assert taken.numel() * 4 < 0.98 * now < peak_memory(torch.device("cpu")) < 1e12
