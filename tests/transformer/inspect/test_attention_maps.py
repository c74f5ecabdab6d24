"""The recorded weights are those that the model computes with."""

import pytest
import torch
from torch import Tensor

from tests.random_model import random_model
from transformer.inspect.attention_maps import attention_maps
from transformer.model import Attention, padding_mask

SOURCE = torch.tensor([[5, 9, 12, 3], [7, 3, 0, 0]])
TARGET = torch.tensor([[2, 8, 11], [2, 6, 4]])
MASK = padding_mask(torch.tensor([4, 2]), 4)


def test_weights_times_values_are_what_each_attention_put_out(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen, real = random_model(), {}, Attention.attend
    names = {module: name for name, module in model.named_modules()}

    def attend(self: Attention, q: Tensor, k: Tensor, v: Tensor, *rest: object, **more: object) -> Tensor:
        output = real(self, q, k, v, *rest, **more)  # type: ignore[arg-type]
        seen[names[self]] = v, output, self.output
        return output

    monkeypatch.setattr(Attention, "attend", attend)
    weights = attention_maps(model, SOURCE, TARGET, MASK)
    attentions = ("encoder.{}.attention", "decoder.{}.attention", "decoder.{}.cross_attention")
    assert weights.keys() == seen.keys() == {name.format(layer) for name in attentions for layer in range(2)}
    for name, (v_BHSK, output_BTD, project) in seen.items():
        with torch.no_grad():
            mine_BTD = project((weights[name] @ v_BHSK).transpose(1, 2).flatten(2))
        torch.testing.assert_close(mine_BTD, output_BTD)


def test_rows_sum_to_one_and_nothing_looks_ahead_or_at_padding() -> None:
    weights = attention_maps(random_model(), SOURCE, TARGET, MASK)
    for weight in weights.values():
        torch.testing.assert_close(weight.sum(-1), torch.ones(weight.shape[:-1]))
    assert not weights["decoder.1.attention"].triu(1).any()
    assert not weights["encoder.1.attention"][1, ..., 2:].any()
    assert not weights["decoder.0.cross_attention"][1, ..., 2:].any()


def test_the_model_is_as_before() -> None:
    model = random_model()
    with torch.inference_mode():
        before = model(SOURCE, TARGET, MASK)
        attention_maps(model, SOURCE, TARGET, MASK)
        assert torch.equal(model(SOURCE, TARGET, MASK), before)
    assert all("attend" not in vars(module) for module in model.modules())
