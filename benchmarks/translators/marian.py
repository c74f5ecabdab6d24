"""MarianMTModel.generate of Hugging Face's transformers."""

from collections.abc import Callable

import torch
import transformers

from benchmarks.contenders.job import device
from benchmarks.contenders.padded_loop import padded
from benchmarks.translators.job import Job, Sentences, batches, measure
from benchmarks.translators.weights import layer_weights, set_epsilon
from transformer.model import Transformer, sinusoids
from transformer.text.subwords import BOS, EOS, PAD

LONGEST = 1024
NEVER = -1e4  # added to the scores of what no output holds


def load(job: Job) -> Callable[[Sentences], Sentences]:
    """The function that translates."""
    torch.set_num_threads(job.threads)
    model = converted(job.translator().model).to(device(), job.dtype)

    def translate(sources: Sentences) -> Sentences:
        outputs: Sentences = [[] for _ in sources]
        for rows in batches(sources, job.batch):
            ids = padded([[*sources[row], EOS] for row in rows]).to(device())
            found = model.generate(
                input_ids=ids,
                attention_mask=(ids != PAD).long(),
                num_beams=job.beam,
                length_penalty=job.length_penalty,
                max_new_tokens=ids.size(1) + job.extra_length,
                do_sample=False,
            )
            for row, output in zip(rows, found.tolist(), strict=True):
                outputs[row] = [i for i in output if i not in (BOS, EOS, PAD)]
        return outputs

    return translate


def converted(ours: Transformer) -> transformers.MarianMTModel:
    """Its model with our weights; it has biases where the paper has none, which are zero."""
    settings = ours.settings
    config = transformers.MarianConfig(
        vocab_size=ours.embedding.size(0),
        d_model=settings.d_model,
        encoder_layers=settings.layers,
        decoder_layers=settings.layers,
        encoder_ffn_dim=settings.d_ff,
        decoder_ffn_dim=settings.d_ff,
        encoder_attention_heads=settings.heads,
        decoder_attention_heads=settings.heads,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=LONGEST,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).eval()
    weights = layer_weights(ours, "model.") | {"model.shared.weight": ours.embedding.detach()}
    missing = model.load_state_dict(weights, strict=False).missing_keys
    allowed = ("final_logits_bias", "embed_positions.weight", "embed_tokens.weight", "lm_head.weight")
    assert all(name.endswith(allowed) for name in missing), missing
    model.tie_weights()
    model.final_logits_bias[0, [PAD, BOS]] = NEVER
    set_epsilon(model)
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_positions.weight.data.copy_(sinusoids(LONGEST, settings.d_model))
    return model


if __name__ == "__main__":
    measure(load, f"transformers {transformers.__version__} MarianMTModel")
