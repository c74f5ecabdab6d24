"""FLOPs counted by hand and by what torch multiplies."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.workspace import PAPER
from transformer.model import Transformer
from transformer.settings import ModelSettings
from transformer.telemetry.flops import forward_flops

SHAPE = ModelSettings(layers=2, d_model=16, d_ff=24, heads=2, d_k=8, d_v=8, dropout=0.0, **PAPER)


def test_count_is_torchs_own() -> None:
    model = Transformer(SHAPE, 50)
    source, target = torch.ones(3, 7, dtype=torch.long), torch.ones(3, 5, dtype=torch.long)
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        model.logits(model(source, target, None))
    assert forward_flops(SHAPE, 50, 3, 7, 5, predicted=15) == counter.get_total_flops()


def test_a_smaller_d_k_costs_less() -> None:
    assert forward_flops(SHAPE.model_copy(update={"d_k": 4}), 50, 3, 7, 5, 15) < forward_flops(SHAPE, 50, 3, 7, 5, 15)
