"""OpenNMT-py: its own batches, model and trainer."""

import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from benchmarks.contenders.job import Job, Stopwatch, device, measure

# Two of its text filters, unused here, import these at the start; they have needs of their own.
sys.modules["spacy"] = ModuleType("spacy")
sys.modules["fasttext"] = ModuleType("fasttext")

import onmt.trainer  # noqa: E402
from onmt.bin.train import _get_parser  # noqa: E402
from onmt.bin.train import train as onmt_train  # noqa: E402


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    # It knows mixed precision as fp16 on a GPU alone: where it would begin that, let it have what the job asks for.
    torch.cuda.amp.autocast = lambda enabled: job.autocast()  # type: ignore[assignment, misc]
    step = onmt.trainer.Trainer._gradient_accumulation
    pad: list[int] = []

    def counted_step(trainer: Any, batches: list[Any], *others: Any) -> None:
        step(trainer, batches, *others)
        pad[:] = pad or [trainer.train_loss.padding_idx]
        source, target = batches[0]["src"], batches[0]["tgt"][:, 1:]  # without the begin symbol
        watch.lap((int(batches[0]["srclen"].sum()), source.numel()), (int((target != pad[0]).sum()), target.numel()))

    onmt.trainer.Trainer._gradient_accumulation = counted_step
    onmt_train(_get_parser().parse_args([str(option) for option in options(job)]))


def options(job: Job) -> list[Any]:
    """The command line of onmt_train."""
    files = job.write_text()
    words, configuration = Path(job.folder, "vocabulary.txt"), Path(job.folder, "data.yaml")
    words.write_text(
        "".join(f"{word}\t1\n" for word in ["<unk>", "<blank>", "<s>", "</s>", *files["words"].read_text().split()]),
        encoding="utf-8",
    )
    configuration.write_text(
        f"data: {{corpus: {{path_src: {files['source']}, path_tgt: {files['target']}, transforms: []}}}}\n",
        encoding="utf-8",
    )
    return [
        "--config", configuration, "--src_vocab", words, "--tgt_vocab", words, "--share_vocab",
        "--save_model", Path(job.folder, "model"), "--save_checkpoint_steps", 10**9, "--train_steps", 10**9,
        "--encoder_type", "transformer", "--decoder_type", "transformer", "--position_encoding",
        "--enc_layers", job.layers, "--dec_layers", job.layers, "--hidden_size", job.d_model,
        "--word_vec_size", job.d_model, "--transformer_ff", job.d_ff, "--heads", job.heads,
        "--dropout", job.dropout, "--attention_dropout", 0, "--label_smoothing", job.label_smoothing,
        "--share_embeddings", "--share_decoder_embeddings", "--param_init", 0, "--param_init_glorot",
        "--optim", "adam", "--adam_beta2", 0.98, "--decay_method", "noam", "--warmup_steps", job.warmup,
        "--learning_rate", 1, "--batch_type", "tokens", "--normalization", "tokens", "--batch_size", job.tokens,
        "--bucket_size", 2**15, "--num_workers", 0, "--report_every", 10**9, "--valid_steps", 10**9,
        *(["--gpu_ranks", 0, "--world_size", 1] if device() == "cuda" else []),
    ]  # fmt: skip


if __name__ == "__main__":
    measure(train, f"OpenNMT-py {version('OpenNMT-py')}")
