"""How much a device takes at once, where the settings leave it open (`tokens_per_device: auto`)."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from transformer.settings import TrainingSettings

# On two cores 2,048 and 4,096 are equally fast; larger parts leave the caches.
TOKENS_ON_A_CPU = 4096
SHARE_OF_MEMORY = 0.75
PROBES = 2048, 8192


def tokens_per_device(settings: TrainingSettings, attempt: Callable[[int], None], device: torch.device) -> int:
    """The setting, or for "auto" what fits: on a GPU three quarters of its free memory, on a CPU a fixed number.

    Args:
        settings: of the training.
        attempt: runs one forward and backward pass over so many tokens.
        device: the rank's; all ranks take what the smallest of them can.
    """
    if settings.tokens_per_device != "auto":
        return settings.tokens_per_device
    if device.type == "cpu":
        return TOKENS_ON_A_CPU
    first, second = (_peak_memory(attempt, tokens, device) for tokens in PROBES)
    per_token = (second - first) / (PROBES[1] - PROBES[0])
    fixed = first - PROBES[0] * per_token
    moments = 2 * torch.cuda.memory_allocated(device)  # of Adam, made at its first step, beside the weights
    free = SHARE_OF_MEMORY * (torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device))
    fits = max(PROBES[0], int((free - fixed - moments) / per_token))
    if dist.is_initialized():
        smallest = torch.tensor(fits, device=device)
        dist.all_reduce(smallest, dist.ReduceOp.MIN)
        fits = int(smallest)
    torch.cuda.reset_peak_memory_stats(device)  # the probes are no part of the training
    # One side of a batch may be longer than the other, and padded; more than that is never taken at once.
    return min(fits // 1024 * 1024, 2 * settings.tokens_per_update)


def _peak_memory(attempt: Callable[[int], None], tokens: int, device: torch.device) -> int:
    torch.cuda.reset_peak_memory_stats(device)
    attempt(tokens)
    return torch.cuda.max_memory_allocated(device)
