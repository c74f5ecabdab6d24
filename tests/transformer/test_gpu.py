"""What only a GPU shows: it computes as the CPU does, and a step never makes the two wait for each other."""

from collections.abc import Callable

import pytest
import torch

from tests.transformer.conftest import SMALL, VOCABULARY, stop_after
from transformer.model import Transformer, padding_mask
from transformer.trainer import Stopped, Trainer

Make = Callable[..., Trainer]

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU that its torch can use"),
]


def test_forward_is_that_of_the_cpu() -> None:
    torch.manual_seed(1)
    model = Transformer(SMALL, VOCABULARY).eval()
    source, target = torch.randint(4, VOCABULARY, (3, 7)), torch.randint(4, VOCABULARY, (3, 5))
    mask = padding_mask(torch.tensor([7, 4, 1]), 7)
    with torch.no_grad():
        expected = model.logits(model(source, target, mask))
        model.cuda()
        found = model.logits(model(source.cuda(), target.cuda(), mask.cuda()))
    torch.testing.assert_close(found.cpu(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.fault("F22")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_training_stays_finite(make_trainer: Make, precision: str) -> None:
    trainer = make_trainer(precision=precision)
    trainer.run()
    assert all(tensor.isfinite().all() for tensor in trainer.model.state_dict().values())


def test_a_training_begun_on_a_gpu_goes_on_on_a_cpu(make_trainer: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = SMALL.model_copy(update={"dropout": 0.0})  # dropout is drawn otherwise on a CPU
    through = make_trainer("through", exact)
    through.run()

    first = make_trainer("moved", exact)
    stop_after(first, 6)
    with pytest.raises(Stopped):
        first.run()
    monkeypatch.setattr("transformer.trainer.pick_device", lambda: torch.device("cpu"))
    second = make_trainer("moved", exact)
    second.run()

    assert second.model.embedding.device.type == "cpu"
    for name, tensor in through.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], tensor.cpu(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_no_step_waits_for_the_gpu(make_trainer: Make, precision: str) -> None:
    trainer = make_trainer(precision=precision)
    indices = torch.arange(10, dtype=torch.int32).numpy()
    for update in (1, 2):  # the first ones allocate
        trainer.step(update, indices)
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.step(3, indices)
    finally:
        torch.cuda.set_sync_debug_mode("default")
