"""fairseq (the fork fairseq-fixed): its model and its SequenceGenerator."""

from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerModelBase
from fairseq.sequence_generator import SequenceGenerator

from benchmarks.contenders.job import device
from benchmarks.translators.job import Job, Sentences, batches, measure
from benchmarks.translators.weights import layer_weights, set_epsilon
from transformer.model import Transformer, sinusoids
from transformer.text.subwords import BOS, EOS, PAD, UNK

OUR_SPECIALS = [BOS, PAD, EOS, UNK]  # in the order of its own ids; the other ids are the same


def load(job: Job) -> Callable[[Sentences], Sentences]:
    """The function that translates."""
    torch.set_num_threads(job.threads)
    ours = job.translator().model
    dictionary = Dictionary()
    for i in range(len(OUR_SPECIALS), ours.embedding.size(0)):
        dictionary.add_symbol(f"w{i}")
    model = converted(ours, dictionary).to(device(), job.dtype)
    generator = SequenceGenerator(
        [model], dictionary, beam_size=job.beam, len_penalty=job.length_penalty,
        max_len_a=1, max_len_b=job.extra_length, tokens_to_suppress=(dictionary.bos_word,),
    )  # fmt: skip
    theirs = {ours: its for its, ours in enumerate(OUR_SPECIALS)}
    specials = range(len(OUR_SPECIALS))

    def translate(sources: Sentences) -> Sentences:
        outputs: Sentences = [[] for _ in sources]
        for rows in batches(sources, job.batch):
            # Left of a sentence: this is where fairseq pads sources.
            lengths = [len(sources[row]) + 1 for row in rows]
            padded = [[PAD] * (max(lengths) - len(sources[row]) - 1) + sources[row] + [EOS] for row in rows]
            ids = torch.tensor([[theirs.get(i, i) for i in row] for row in padded], device=device())
            inputs = {"src_tokens": ids, "src_lengths": torch.tensor(lengths, device=device())}
            found = generator.generate([], {"net_input": inputs}, bos_token=dictionary.bos())
            for row, hypotheses in zip(rows, found, strict=True):
                output = [OUR_SPECIALS[i] if i in specials else i for i in hypotheses[0]["tokens"].tolist()]
                outputs[row] = output[:-1]  # the end symbol, which it also sets where an output is cut
        return outputs

    return translate


def converted(ours: Transformer, dictionary: Dictionary) -> TransformerModelBase:
    """Its model with our weights."""
    settings = ours.settings
    config = TransformerConfig()
    for stack in (config.encoder, config.decoder):
        stack.layers, stack.embed_dim, stack.ffn_embed_dim = settings.layers, settings.d_model, settings.d_ff
        stack.attention_heads = settings.heads
    config.decoder.input_dim = config.decoder.output_dim = settings.d_model
    config.share_all_embeddings = True
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = TransformerModelBase.build_model(config, task).eval()
    model.load_state_dict(layer_weights(ours, ""), strict=False)
    set_epsilon(model)
    order = [*OUR_SPECIALS, *range(len(OUR_SPECIALS), ours.embedding.size(0))]
    for stack in (model.encoder, model.decoder):
        stack.embed_tokens.weight.data.copy_(ours.embedding.detach()[order])
        table = stack.embed_positions.weights
        first = stack.embed_positions.padding_idx + 1  # where its positions begin
        table[first:] = sinusoids(table.size(0) - first, settings.d_model)
    return model


if __name__ == "__main__":
    measure(load, f"fairseq-fixed {version('fairseq-fixed')}")
