"""A trained model in the format of CTranslate2, and the search of that library.

CTranslate2 (https://opennmt.net/CTranslate2) translates on a CPU or GPU without PyTorch. A model of its is a folder:

    model.bin               weights by the names of `ctranslate2.specs.TransformerSpec`
    config.json             special tokens, and that each source gets its end symbol
    shared_vocabulary.json  the pieces of the sub-word model, in the order of their ids
"""

import copy
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
import torch
from ctranslate2.specs import (
    TransformerDecoderSpec,
    TransformerEncoderSpec,
    TransformerSpec,
    attention_spec,
    common_spec,
    transformer_spec,
)
from torch import Tensor, nn

from transformer.io.errors import InputError
from transformer.model import (
    LAYER_NORM_EPSILON,
    Attention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    concatenated_sinusoids,
    sinusoids,
)
from transformer.search import Hypothesis
from transformer.settings import ModelSettings, SearchSettings
from transformer.text.subwords import BOS, EOS, PAD, UNK

# Its format holds a table of them; a longer sentence is an error there. Its own limit of an input is half as long.
POSITIONS = 2048
# Added to the scores of what no output may hold. Small enough for exp to give 0, and yet within the range of float16.
NEVER = -1e4


def check_settings(settings: ModelSettings) -> None:
    """InputError that names a setting which the format cannot hold."""
    if settings.d_v != settings.d_k:
        raise InputError(
            f"model.d_v is {settings.d_v} and model.d_k {settings.d_k}: CTranslate2 has one size for both, "
            "so this model cannot be exported"
        )


def write(model: Transformer, pieces: list[str], folder: Path, quantization: str) -> None:
    """Write the model into an empty folder.

    Args:
        model: with its weights.
        pieces: of the sub-word model, by id.
        folder: is there and empty.
        quantization: of the matrices, "float32" or "int8" (one scale for each row).
    """
    check_settings(model.settings)
    spec = specification(copy.deepcopy(model).cpu())  # `optimize` writes into the arrays it is given
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    config = spec.config
    config.unk_token, config.bos_token, config.eos_token = pieces[UNK], pieces[BOS], pieces[EOS]
    config.decoder_start_token = pieces[BOS]
    config.add_source_eos = True
    config.layer_norm_epsilon = LAYER_NORM_EPSILON
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def specification(model: Transformer) -> TransformerSpec:
    """The weights of `model` by the names of CTranslate2."""
    settings = model.settings
    pre = settings.normalisation == "pre"
    encoder = TransformerEncoderSpec(settings.layers, settings.heads, pre_norm=pre, head_dim=settings.d_k)
    decoder = TransformerDecoderSpec(settings.layers, settings.heads, pre_norm=pre, head_dim=settings.d_k)
    embedding, positions = model.embedding.detach(), _positions(model)
    encoder.embeddings[0].weight = decoder.embeddings.weight = decoder.projection.weight = embedding
    encoder.position_encodings.encodings = decoder.position_encodings.encodings = positions
    decoder.projection.bias = torch.zeros(embedding.size(0)).index_fill_(0, torch.tensor([PAD, BOS]), NEVER)
    for encoder_layer, layer_spec in zip(model.encoder, encoder.layer, strict=True):
        _set_encoder_layer(layer_spec, encoder_layer)
    for decoder_layer, layer_spec in zip(model.decoder, decoder.layer, strict=True):
        _set_decoder_layer(layer_spec, decoder_layer)
    for stack, norm in ((encoder, model.encoder_norm), (decoder, model.decoder_norm)):
        if isinstance(norm, nn.LayerNorm):
            _set_norm(stack.layer_norm, norm)
    return TransformerSpec(encoder, decoder)


def _positions(model: Transformer) -> Tensor:
    """The model's own table: CTranslate2 would compute sines and cosines in another order."""
    settings = model.settings
    if settings.positions == "learned":
        return model.positions.detach()
    table = sinusoids if settings.positions == "sinusoidal" else concatenated_sinusoids
    return table(POSITIONS, settings.d_model)


def _set_encoder_layer(spec: transformer_spec.TransformerEncoderLayerSpec, layer: EncoderLayer) -> None:
    _set_self_attention(spec.self_attention, layer.attention, layer.attention_residual.norm)
    _set_feed_forward(spec.ffn, layer.feed_forward, layer.feed_forward_residual.norm)


def _set_decoder_layer(spec: transformer_spec.TransformerDecoderLayerSpec, layer: DecoderLayer) -> None:
    _set_self_attention(spec.self_attention, layer.attention, layer.attention_residual.norm)
    cross, queries = layer.cross_attention, layer.cross_attention.sizes[0]
    spec.attention.linear[0].weight = cross.projections.detach()[:queries]
    spec.attention.linear[1].weight = cross.projections.detach()[queries:]
    spec.attention.linear[2].weight = cross.output.weight.detach()
    _set_norm(spec.attention.layer_norm, layer.cross_attention_residual.norm)
    _set_feed_forward(spec.ffn, layer.feed_forward, layer.feed_forward_residual.norm)


def _set_self_attention(spec: attention_spec.MultiHeadAttentionSpec, attention: Attention, norm: nn.LayerNorm) -> None:
    spec.linear[0].weight = attention.projections.detach()
    spec.linear[1].weight = attention.output.weight.detach()
    _set_norm(spec.layer_norm, norm)


def _set_feed_forward(spec: transformer_spec.FeedForwardSpec, layer: FeedForward, norm: nn.LayerNorm) -> None:
    for linear_spec, linear in ((spec.linear_0, layer.inner), (spec.linear_1, layer.outer)):
        linear_spec.weight, linear_spec.bias = linear.weight.detach(), linear.bias.detach()
    _set_norm(spec.layer_norm, norm)


def _set_norm(spec: common_spec.LayerNormSpec, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight.detach(), norm.bias.detach()


def load(folder: Path, device: str) -> ctranslate2.Translator:
    """The model in a folder, with as many workers of one thread as PyTorch has threads."""
    return ctranslate2.Translator(str(folder), device, inter_threads=torch.get_num_threads(), intra_threads=1)


@dataclass(frozen=True)
class CTranslate2Search:
    """Beam search by CTranslate2 with the arguments that make it most like `transformer.search.beam_search`.

    Args:
        translator: has the folder that `write` wrote.
        pieces: of the sub-word model, by id.
        patience: it goes on until beam * patience outputs have ended, where ours goes on until no other can win.
        batch: sentences at once.
    """

    translator: ctranslate2.Translator
    pieces: list[str]
    patience: float
    batch: int

    def search(self, sources: list[list[int]], settings: SearchSettings) -> list[Hypothesis]:
        """The best output of each source, as ids without end symbol; its score counts the end symbol in |Y|.

        Its penalty is that which `settings` call "length". An output may be as long as the longest source and
        `extra_length` allow, where ours measures by each source. Sources are ids without end symbol and not empty.
        """
        ids = {piece: number for number, piece in enumerate(self.pieces)}
        results = self.translator.translate_batch(
            [[self.pieces[i] for i in source] for source in sources],
            max_batch_size=self.batch,
            beam_size=settings.beam,
            patience=self.patience,
            length_penalty=settings.length_penalty,
            max_input_length=0,
            min_decoding_length=0,  # with 1 it leaves the end symbol out of the first softmax
            max_decoding_length=max(map(len, sources)) + settings.extra_length,
            return_end_token=True,  # without, it does not count the end symbol either
            return_scores=True,
        )
        return [
            self._hypothesis([ids[piece] for piece in result.hypotheses[0]], result.scores[0]) for result in results
        ]

    def _hypothesis(self, output: list[int], score: float) -> Hypothesis:
        ended = output[-1:] == [EOS]
        return Hypothesis(output[:-1] if ended else output, score, cut=not ended)
