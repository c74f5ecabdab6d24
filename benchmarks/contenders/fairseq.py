"""fairseq (the fork fairseq-fixed, which runs on today's Python): its own preprocessing, batches, model and trainer."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import fairseq.options
import fairseq.trainer
import fairseq_cli.preprocess
import fairseq_cli.train
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from benchmarks.contenders.job import Job, Stopwatch, device, measure


def train(job: Job, watch: Stopwatch) -> None:
    """Train until the watch has enough."""
    data = preprocess(job)
    step = fairseq.trainer.Trainer.train_step

    def counted_step(trainer: Any, samples: list[Any], raise_oom: bool = False) -> Any:
        logged = step(trainer, samples, raise_oom)
        source, target = samples[0]["net_input"]["src_tokens"], samples[0]["target"]
        real = int(samples[0]["net_input"]["src_lengths"].sum()), samples[0]["ntokens"]
        watch.lap((real[0], source.numel()), (real[1], target.numel()))
        return logged

    fairseq.trainer.Trainer.train_step = counted_step
    arguments = fairseq.options.parse_args_and_arch(
        fairseq.options.get_training_parser(), input_args=[str(data), *map(str, options(job))]
    )
    config = convert_namespace_to_omegaconf(arguments)
    config.common.tpu = False  # --bf16 sets it, and with it asks for torch_xla
    fairseq_cli.train.main(config)


def preprocess(job: Job) -> Path:
    """The folder with its binary form of the token streams."""
    files, folder = job.write_text(), Path(job.folder, "binary")
    words = files["words"].read_text(encoding="utf-8").split()
    dictionary = Path(job.folder, "dictionary.txt")
    dictionary.write_text("".join(f"{word} 1\n" for word in words), encoding="utf-8")
    prefix = files["source"].with_suffix("")
    fairseq_cli.preprocess.main(
        fairseq.options.get_preprocessing_parser().parse_args(
            [
                "--source-lang=source", "--target-lang=target", f"--trainpref={prefix}", f"--validpref={prefix}",
                f"--destdir={folder}", f"--srcdict={dictionary}", "--joined-dictionary", "--workers=1",
            ]
        )
    )  # fmt: skip
    return folder


def options(job: Job) -> list[Any]:
    """The command line of fairseq-train."""
    sizes: list[Any] = []
    for side in ("encoder", "decoder"):
        sizes += [f"--{side}-layers", job.layers, f"--{side}-embed-dim", job.d_model]
        sizes += [f"--{side}-ffn-embed-dim", job.d_ff, f"--{side}-attention-heads", job.heads]
    return [
        "--arch", "transformer", *sizes, "--share-all-embeddings", "--dropout", job.dropout,
        "--criterion", "label_smoothed_cross_entropy", "--label-smoothing", job.label_smoothing,
        "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", (job.d_model * job.warmup) ** -0.5,
        "--lr-scheduler", "inverse_sqrt", "--warmup-updates", job.warmup, "--max-tokens", job.tokens,
        "--num-workers", 0, "--no-save", "--disable-validation", "--log-interval", 1000, "--seed", 1,
        *(["--bf16"] if job.bf16 else []), *(["--cpu"] if device() == "cpu" else []),
    ]  # fmt: skip


if __name__ == "__main__":
    measure(train, f"fairseq-fixed {version('fairseq-fixed')}")
