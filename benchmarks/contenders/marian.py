"""MarianMTModel of Hugging Face's transformers, in the same loop as plain torch."""

import transformers
from torch import Tensor

from benchmarks.contenders import padded_loop
from benchmarks.contenders.job import BOS, EOS, PAD, Job, Stopwatch, device, measure


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    config = transformers.MarianConfig(
        vocab_size=job.vocabulary,
        d_model=job.d_model,
        encoder_layers=job.layers,
        decoder_layers=job.layers,
        encoder_ffn_dim=job.d_ff,
        decoder_ffn_dim=job.d_ff,
        encoder_attention_heads=job.heads,
        decoder_attention_heads=job.heads,
        dropout=job.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        max_position_embeddings=1024,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).to(device())

    def logits(source: Tensor, target: Tensor) -> Tensor:
        found = model(input_ids=source, attention_mask=source != PAD, decoder_input_ids=target, use_cache=False)
        return found.logits

    padded_loop.train(job, watch, model, logits)


if __name__ == "__main__":
    measure(train, f"transformers {transformers.__version__} MarianMTModel")
