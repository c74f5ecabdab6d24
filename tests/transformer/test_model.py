"""The model against PyTorch's own Transformer, and what padding and later positions may not change."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from tests.workspace import PAPER
from transformer.alignment import alignment
from transformer.io.errors import InputError
from transformer.kv_cache import decode_step, new_caches
from transformer.loss import smoothed_loss
from transformer.model import (
    LAYER_NORM_EPSILON,
    LEARNED_POSITIONS,
    Attention,
    Transformer,
    attention,
    concatenated_sinusoids,
    count_parameters,
    padding_mask,
    sinusoids,
)
from transformer.settings import ModelSettings
from transformer.text.subwords import BOS, PAD

SETTINGS = ModelSettings(layers=2, d_model=16, d_ff=32, heads=4, d_k=4, d_v=4, dropout=0.0, **PAPER)
VOCABULARY = 23
BASE = {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "d_k": 64, "d_v": 64, "dropout": 0.1, **PAPER}
BIG = {"d_model": 1024, "d_ff": 4096, "heads": 16}


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(SETTINGS, VOCABULARY).eval()


def batch(lengths: list[int], seed: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    for row, length in enumerate(lengths):
        ids[row, length:] = PAD
    return ids


def torchs_own(model: Transformer) -> nn.Transformer:
    """PyTorch's Transformer with our weights in it; as post-LN without its extra final norms."""
    theirs = nn.Transformer(
        d_model=16, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=32, dropout=0.0,
        layer_norm_eps=LAYER_NORM_EPSILON, batch_first=True, norm_first=model.settings.normalisation == "pre",
    )  # fmt: skip
    theirs.encoder.norm, theirs.decoder.norm = (
        None if isinstance(norm, nn.Identity) else norm for norm in (model.encoder_norm, model.decoder_norm)
    )

    def attention(ours: Attention, own: nn.MultiheadAttention) -> None:
        own.in_proj_weight.data = ours.projections.data.clone()
        own.in_proj_bias.data.zero_()
        own.out_proj.weight.data = ours.output.weight.data.clone()
        own.out_proj.bias.data.zero_()

    for ours, own in zip(
        [*model.encoder, *model.decoder], [*theirs.encoder.layers, *theirs.decoder.layers], strict=True
    ):
        attention(ours.attention, own.self_attn)
        residuals = [ours.attention_residual, ours.feed_forward_residual]
        if hasattr(ours, "cross_attention"):
            attention(ours.cross_attention, own.multihead_attn)
            residuals.insert(1, ours.cross_attention_residual)
        for number, residual in enumerate(residuals, start=1):
            getattr(own, f"norm{number}").load_state_dict(residual.norm.state_dict())
        own.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
        own.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("lengths", [[5, 5, 5], [5, 2, 4]], ids=["no padding", "padding"])
@pytest.mark.parametrize("normalisation", ["post", "pre"])
def test_forward_and_gradients_are_those_of_torch_nn_transformer(lengths: list[int], normalisation: str) -> None:
    torch.manual_seed(1)
    model = Transformer(SETTINGS.model_copy(update={"normalisation": normalisation}), VOCABULARY).eval()
    theirs = torchs_own(model).eval()
    source, target = batch(lengths), batch([6, 6, 6], seed=3)
    mask = padding_mask(torch.tensor(lengths), 5)
    ours = model(source, target, mask if PAD in source else None)

    embedding = model.embedding.detach().clone().requires_grad_()
    positions = sinusoids(6, 16)
    embed = lambda ids: nn.functional.embedding(ids, embedding) * 4 + positions[: ids.size(1)]  # noqa: E731
    padded = source == PAD
    expected = theirs(
        embed(source), embed(target), tgt_mask=nn.Transformer.generate_square_subsequent_mask(6),
        src_key_padding_mask=padded, memory_key_padding_mask=padded, tgt_is_causal=True,
    )  # fmt: skip
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)

    # A mean, so that gradients are of the size of 1 and a difference of 1e-5 means something.
    ours.square().mean().backward()
    expected.square().mean().backward()
    torch.testing.assert_close(model.embedding.grad, embedding.grad, atol=1e-5, rtol=0)
    pairs = zip([*model.encoder, *model.decoder], [*theirs.encoder.layers, *theirs.decoder.layers], strict=True)
    for layer, own in pairs:
        compared = [
            (layer.attention.projections, own.self_attn.in_proj_weight),
            (layer.attention.output.weight, own.self_attn.out_proj.weight),
            (layer.attention_residual.norm.weight, own.norm1.weight),
            (layer.feed_forward.inner.weight, own.linear1.weight),
            (layer.feed_forward.outer.bias, own.linear2.bias),
        ]
        if hasattr(layer, "cross_attention"):
            compared += [(layer.cross_attention.projections, own.multihead_attn.in_proj_weight)]
        for parameter, other in compared:
            torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=0)


def test_a_sentence_alone_and_in_a_padded_batch_gives_the_same_logits(model: Transformer) -> None:
    source, target = batch([7, 3]), batch([4, 6], seed=3)
    together = model.logits(model(source, target, padding_mask(torch.tensor([7, 3]), 7)))
    alone = model.logits(model(source[1:, :3], target[1:], None))
    torch.testing.assert_close(together[1:], alone, atol=1e-5, rtol=0)


def test_nothing_leaks_from_later_target_positions(model: Transformer) -> None:
    source, target = batch([5]), batch([6], seed=3)
    changed = target.clone()
    changed[0, 3:] = BOS
    before, after = (model(source, ids, None) for ids in (target, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


@pytest.mark.parametrize("normalisation", ["post", "pre"])
def test_step_by_step_with_caches_gives_the_logits_of_the_whole_sequence(normalisation: str) -> None:
    model = Transformer(SETTINGS.model_copy(update={"normalisation": normalisation}), VOCABULARY).eval()
    source, target = batch([5, 3]), batch([6, 6], seed=3)
    mask = padding_mask(torch.tensor([5, 3]), 5)
    whole = model.logits(model(source, target, mask))
    caches = new_caches(model, model.run_encoder(source, mask))
    for position in range(6):
        # Two hypotheses of each sentence: the target, and one that says something else all along.
        ids = torch.stack([target[:, position], torch.full((2,), 4)], dim=1)
        seen = (torch.arange(12) % 2 == torch.arange(2).unsqueeze(1)) & (torch.arange(12) < 2 * position + 2)
        y = decode_step(model, ids, position, caches, mask, seen.expand(2, 2, 12))
        torch.testing.assert_close(model.logits(y)[:, 0], whole[:, position], atol=1e-5, rtol=0)


@pytest.mark.fault("F28")
def test_sentences_longer_than_the_position_table_are_embedded(model: Transformer) -> None:
    before = model.positions.size(0)
    model(batch([before + 5]), batch([4]), None)
    assert model.positions.size(0) > before


def count(vocabulary: int, **shape: int) -> int:
    with torch.device("meta"):
        return count_parameters(Transformer(ModelSettings(**{**BASE, **shape}), vocabulary))


@pytest.mark.parametrize(("shape", "expected"), [({}, 63_045_632), (BIG, 214_171_648)], ids=["base", "big"])
def test_parameters_are_those_counted_from_the_paper(shape: dict[str, int], expected: int) -> None:
    assert count(37_000, **shape) == expected


@pytest.mark.parametrize(
    ("shape", "printed"),
    [
        ({}, 65),
        ({"heads": 1, "d_k": 512, "d_v": 512}, 65),
        ({"heads": 4, "d_k": 128, "d_v": 128}, 65),
        ({"heads": 16, "d_k": 32, "d_v": 32}, 65),
        ({"heads": 32, "d_k": 16, "d_v": 16}, 65),
        ({"d_k": 16}, 58),
        ({"d_k": 32}, 60),
        ({"layers": 2}, 36),
        ({"layers": 4}, 50),
        ({"layers": 8}, 80),
        ({"d_model": 256, "d_k": 32, "d_v": 32}, 28),
        ({"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
        ({"d_ff": 1024}, 52),  # the paper prints 53, which needs the biases of attention that the early code had
        ({"d_ff": 4096}, 90),
        (BIG, 218),  # the paper prints 213, which wants a vocabulary of about 36,000
    ],
    ids=lambda value: "-".join(f"{key}-{size}" for key, size in value.items()) if isinstance(value, dict) else None,
)
def test_parameters_of_every_row_of_table_3(shape: dict[str, int], printed: int) -> None:
    """In millions, with the vocabulary of the released code, 40,960 (rows A have the base model's)."""
    assert round(count(40_960, **shape) / 1e6) == printed


def test_the_counts_that_differ_from_the_printed_ones() -> None:
    biases = 18 * 4 * 512  # of W^Q, W^K, W^V and W^O in 6 + 2 * 6 attentions
    assert round((count(40_960, d_ff=1024) + biases) / 1e6) == 53
    assert round(count(36_000, **BIG) / 1e6) == 213


def test_learned_positions_are_one_table_for_both_stacks_and_have_an_end() -> None:
    model = Transformer(SETTINGS.model_copy(update={"positions": "learned"}), VOCABULARY)
    assert count_parameters(model) == count_parameters(Transformer(SETTINGS, VOCABULARY)) + 16 * LEARNED_POSITIONS
    model(batch([5]), batch([4]), None)[..., 0].square().sum().backward()
    assert model.positions.grad is not None
    assert (model.positions.grad.abs().sum(1) > 0).tolist() == [True] * 5 + [False] * (LEARNED_POSITIONS - 5)
    with pytest.raises(InputError, match=f"{LEARNED_POSITIONS} learned positions"):
        model(batch([LEARNED_POSITIONS + 1]), batch([4]), None)


def test_sinusoids_are_interleaved_and_those_of_the_released_code_concatenated() -> None:
    angle = 7 / 10000 ** (2 * 3 / 16)
    assert sinusoids(8, 16)[7, 6].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert sinusoids(8, 16)[7, 7].item() == pytest.approx(math.cos(angle), abs=1e-6)
    angle = 7 / 10000 ** (3 / 7)
    assert concatenated_sinusoids(8, 16)[7, 3].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert concatenated_sinusoids(8, 16)[7, 8 + 3].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_dropout_sites_are_those_of_the_settings() -> None:
    """Each of the three alone makes two passes differ in training, none of them in use."""
    source, target = batch([5]), batch([6], seed=3)
    for site in ("dropout", "attention_dropout", "activation_dropout"):
        model = Transformer(SETTINGS.model_copy(update={site: 0.5}), VOCABULARY)
        assert not torch.equal(model(source, target, None), model(source, target, None)), site
        model.eval()
        assert torch.equal(model(source, target, None), model(source, target, None)), site
    model = Transformer(SETTINGS, VOCABULARY)
    assert torch.equal(model(source, target, None), model(source, target, None))


@pytest.mark.fault("F20")
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_chunked_loss_is_the_plain_one(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer.loss.LOGITS_AT_ONCE", {"cpu": 70})  # several pieces, the last one smaller
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(23, 8, generator=generator, requires_grad=True)
    embedding = torch.randn(11, 8, generator=generator, requires_grad=True)
    gold = torch.randint(0, 11, (23,), generator=generator)
    loss, nll = smoothed_loss(y, embedding, gold, smoothing)
    (2 * loss).backward()
    gradients = y.grad, embedding.grad
    y.grad = embedding.grad = None
    log_probabilities = nn.functional.log_softmax(y @ embedding.T, dim=1)
    wanted = torch.full((23, 11), smoothing / 10).scatter_(1, gold[:, None], 1 - smoothing)
    expected = -(wanted * log_probabilities).sum()
    (2 * expected).backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, nn.functional.nll_loss(log_probabilities, gold, reduction="sum"))
    torch.testing.assert_close(gradients, (y.grad, embedding.grad))


@pytest.mark.fault("F20")
def test_uniform_logits_have_the_vocabulary_as_perplexity() -> None:
    _, nll = smoothed_loss(torch.zeros(5, 8), torch.ones(11, 8), torch.arange(5), label_smoothing=0.1)
    assert (nll / 5).exp().item() == pytest.approx(11)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_what_pytorchs_fused_function_computes(causal: bool, masked: bool) -> None:
    q, k, v = torch.randn(3, 2, 4, 6, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
    mask = padding_mask(torch.tensor([6, 3]), 6) if masked else None
    both = (
        mask
        if not causal
        else torch.ones(6, 6, dtype=torch.bool).tril()
        if mask is None
        else mask & torch.ones(6, 6, dtype=torch.bool).tril()
    )
    expected = nn.functional.scaled_dot_product_attention(q, k, v, both)
    torch.testing.assert_close(attention(q, k, v, mask, 0.0, causal), expected)


@pytest.mark.fault("F22")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_masked_keys_never_give_nan(dtype: torch.dtype) -> None:
    attention = Attention(SETTINGS).to(dtype)
    x = torch.randn(2, 4, 16).to(dtype)
    y = attention(x, mask=padding_mask(torch.tensor([4, 1]), 4))
    assert y.isfinite().all()


def test_alignment_is_what_the_last_layer_attends_to_the_source_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fused function's output, written out: the weights times the values it was given, with one head."""
    torch.manual_seed(1)
    model = Transformer(SETTINGS.model_copy(update={"heads": 1}), 12).eval()
    source, target = torch.randint(4, 12, (2, 5)), torch.randint(4, 12, (2, 3))
    mask = padding_mask(torch.tensor([5, 3]), 5)
    last = model.decoder[-1].cross_attention
    values = []
    attend = last.attend

    def spy(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *more: Any) -> torch.Tensor:
        values.append((v, attend(q, k, v, *more)))
        return values[0][1]

    monkeypatch.setattr(last, "attend", spy)
    with torch.no_grad():
        model(source, target, mask)
        weights_BTS = alignment(model, source, target, mask)
        ((v_BHSK, attended_BTD),) = values
        torch.testing.assert_close(last.output(weights_BTS @ v_BHSK[:, 0]), attended_BTD)
    torch.testing.assert_close(weights_BTS.sum(2), torch.ones(2, 3))
    assert weights_BTS[1, :, 3:].eq(0).all()
