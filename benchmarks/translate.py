"""Sentences a second in beam search, beside other toolkits with the same weights: beam 4, alpha 0.6.

    python -m benchmarks.translate           # 20 minutes, with the first of EXPERIMENTS that has a model
    python -m benchmarks.translate --experiment tiny --contenders ours ctranslate2 --rounds 1 --seconds 2

All translate the same sentences, up to 1,000 of the test split, from sub-word ids to sub-word ids, with the weights of
models/E. Each first tries its batch sizes (CTranslate2 also: workers times threads) once and keeps the fastest; then
rounds go through all (A B A B), each run a process of its own, in the environments of `python -m benchmarks.train`.

models/E/  data/corpora/C/test.SOURCE
  -> reports/benchmarks/translate.md    the table, and what stands in benchmarks/translate_notes.md
     reports/benchmarks/translate.json  every run; `python -m benchmarks.translate_report` draws the table again from it
     .benchmarks/logs/                  what each contender printed
"""

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from benchmarks import translate_report
from benchmarks.environments import FOLDER, NotInstalled, python_for
from benchmarks.rounds import facts, failed_before, run_process
from benchmarks.translators.job import Job
from tasks.common.paths import CORPORA, MODELS
from tasks.common.settings import read_experiment
from tasks.export.comparison import read_test
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, write_json
from transformer.io.progress import bar
from transformer.translator import Translator

EXPERIMENTS = ["multi30k", "multi30k-tiny", "tiny"]
CONTENDERS = [
    "ours", "ours_bf16", "marian", "marian_bf16", "fairseq", "fairseq_bf16", "ctranslate2", "ctranslate2_int8",
]  # fmt: skip
BATCHES = {"ours": [0], "marian": [32, 64, 128], "fairseq": [64, 128, 256], "ctranslate2": [32, 64, 128]}
SEARCH: dict[str, Any] = {"beam": 4, "length_penalty": 0.6, "extra_length": 50}
TRIAL_SECONDS = 2.0
SECONDS_TO_START = 300.0  # at most, with one pass over all sentences more than the seconds asked for

Results = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.translate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--experiment", help=f"whose model (default: the first of {', '.join(EXPERIMENTS)} that has one)"
    )
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--seconds", type=float, default=10.0, help="measured in each run, at least (default 10)")
    chosen = parser.parse_args(arguments)
    model = MODELS / (chosen.experiment or first_model())
    translator = Translator.load(model)
    check_model(translator)
    corpus = CORPORA / read_experiment(model.name, "corpus").corpus
    sources, _ = read_test(corpus, translator)
    FOLDER.mkdir(exist_ok=True)
    results = {
        **facts(),
        **SEARCH,
        "seconds": chosen.seconds,
        "contenders": chosen.contenders,
        "trials": [],
        "runs": [],
    }
    results["model"] = f"`{model.name}`: {translator.config.model.layers} + {translator.config.model.layers} layers"
    results["corpus"] = f"{corpus.name}, test: {len(sources):,} sentences"
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        write_json(Path(folder, "sources.json"), sources)
        measure(chosen, model.absolute(), Path(folder), results)
    print(translate_report.table(results))


def first_model() -> str:
    """The experiment to take where none is named."""
    found = next((name for name in EXPERIMENTS if (MODELS / name).is_dir()), None)
    if found is None:
        raise InputError(f"{MODELS}: has none of {', '.join(EXPERIMENTS)}; run `make reproduce EXPERIMENT=tiny`")
    return found


def check_model(translator: Translator) -> None:
    """InputError if the other toolkits' models cannot hold it."""
    shape = translator.config.model
    wanted = {"normalisation": "post", "positions": "sinusoidal", "d_k": shape.d_v, "d_v": shape.d_model // shape.heads}
    for name, value in wanted.items():
        if getattr(shape, name) != value:
            raise InputError(
                f"model.{name} is {getattr(shape, name)}: the models of the other toolkits here have {value}; "
                "choose another with --experiment"
            )


def measure(chosen: argparse.Namespace, model: Path, folder: Path, results: Results) -> None:
    """Try, then run all rounds; the reports are written after each, so that whatever stops it leaves those before."""
    best = {name: try_variants(name, model, folder, results) for name in chosen.contenders}
    with bar(chosen.rounds * len(best), "benchmarks.translate", "run") as shown:
        for number in range(1, chosen.rounds + 1):
            for contender, variant in best.items():
                run = {"round": number, "contender": contender, **variant}
                if not failed_before([*results["trials"], *results["runs"]], run):
                    run["load"] = psutil.cpu_percent(interval=1)
                    results["runs"].append(run | run_one(run, model, folder, chosen.seconds))
                shown.update()
            translate_report.PAGE.save(results)


def try_variants(contender: str, model: Path, folder: Path, results: Results) -> dict[str, int]:
    """The fastest way to run a contender here; the first one if none ran."""
    ways = variants(contender, results["cores"])
    for variant in ways:
        trial = {"contender": contender, **variant}
        if not failed_before(results["trials"], {"contender": contender}):
            results["trials"].append(trial | run_one(trial, model, folder, TRIAL_SECONDS))
    tried = [trial for trial in results["trials"] if trial["contender"] == contender and "error" not in trial]
    best = max(tried, key=lambda trial: trial["sentences_per_second"], default=ways[0])
    return {key: best[key] for key in ways[0]}


def variants(contender: str, cores: int) -> list[dict[str, int]]:
    """Batch sizes, and where a toolkit has workers either those or threads."""
    script, _ = toolkit_and_precision(contender)
    shares = {(1, cores), (cores, 1)} if script == "ctranslate2" else {(1, cores)}
    return [
        {"workers": workers, "threads": threads, "batch": batch}
        for workers, threads in sorted(shares)
        for batch in BATCHES[script]
    ]


def toolkit_and_precision(contender: str) -> tuple[str, str]:
    """The script of a contender and what it computes in: ctranslate2_int8 is ctranslate2 in int8."""
    script, _, precision = contender.partition("_")
    return script, precision or "fp32"


def run_one(run: dict[str, Any], model: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """What one process says of itself, or why it did not, and how many outputs were the same as ours."""
    contender = run["contender"]
    script, precision = toolkit_and_precision(contender)
    outputs = folder / f"{contender}.json"
    job = Job(
        model=str(model),
        sources=str(folder / "sources.json"),
        outputs=str(outputs),
        precision=precision,
        seconds=seconds,
        **SEARCH,
        **{key: run[key] for key in ("workers", "threads", "batch")},
    )
    try:
        python = python_for(script)
    except NotInstalled as error:
        return {"error": f"not installed: {error}"}
    command = [str(python), "-m", f"benchmarks.translators.{script}", json.dumps(asdict(job))]
    found = run_process(
        command, job.threads, SECONDS_TO_START + seconds, FOLDER / "logs" / f"translate-{contender}.log"
    )
    ours = folder / "ours.json"
    if "error" not in found and ours.exists():
        pairs = zip(read_json(outputs), read_json(ours), strict=True)
        found["same_as_ours"] = sum(a == b for a, b in pairs) / len(read_json(ours))
    return found


if __name__ == "__main__":
    run_main(main)
