"""The most that this machine multiplies: the best sustained rate of large matrix products, in one line of JSON.

python -m benchmarks.limit bf16
"""

import json
import sys
import time

import torch

# [m, k] times [k, n]: squares, and what a batch of 4,096 tokens of `base` multiplies.
SHAPES = [(1024,) * 3, (2048,) * 3, (4096,) * 3, (4096, 512, 2048), (4096, 2048, 512), (4096, 512, 8000)]
GPU_SHAPES = [*SHAPES, (8192,) * 3, (16384,) * 3]
SECONDS = 1.0


def main() -> None:
    """Measure in the precision named on the command line."""
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[sys.argv[1]]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rates = {shape: rate(shape, dtype, device) for shape in (GPU_SHAPES if device == "cuda" else SHAPES)}
    best = max(rates, key=lambda shape: rates[shape])
    print(json.dumps({"flops_per_second": rates[best], "shape": best}))


def rate(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> float:
    """FLOP/s over SECONDS, after a first product."""
    m, k, n = shape
    a, b = torch.randn(m, k, device=device, dtype=dtype), torch.randn(k, n, device=device, dtype=dtype)
    a @ b
    repeat = 1 if device == "cpu" else 20  # a GPU is not made to wait after each
    started, count = _now(device), 0
    while (seconds := _now(device) - started) < SECONDS:
        for _ in range(repeat):
            a @ b
        count += repeat
    return 2 * m * k * n * count / seconds


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
