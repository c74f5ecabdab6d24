"""Sentence pairs a second from raw text to shards: ours at WMT14's sizes, and beside other toolkits.

    python -m benchmarks.data                       # 1, 4.5 and 9 million pairs, then 3 rounds beside others
    python -m benchmarks.data --pairs 4_500_000 --rounds 0
    python -m benchmarks.data --pairs --side-by-side 20_000 --rounds 1           # two minutes

The text is made from slices of WMT14 (benchmarks/made_up_text.py), once for each size, into .benchmarks/text/. The
settings are those of a corpus in params.yaml, in a folder of their own, where the stages run by their commands. Beside
others each run starts from the same raw files, with the sub-words learned before; rounds go through all (A B A B).
What was measured before at another size, or in the other part, stays in the report.

$REPRO_DATA/wmt14-slice  $REPRO_DATA/wmt14
  -> reports/benchmarks/data.md    tables, and what stands in benchmarks/data_notes.md
     reports/benchmarks/data.json  every run; `python -m benchmarks.data_report` draws the tables again from it
     .benchmarks/logs/             what each command printed
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import yaml

from benchmarks import data_report
from benchmarks.environments import CONTENDERS as ENVIRONMENTS
from benchmarks.environments import FOLDER, NotInstalled, last_line, python_for
from benchmarks.made_up_text import LANGUAGES, made_up_text
from benchmarks.process_tree import run_measured
from benchmarks.rounds import CHECKOUT, facts, failed_before
from tasks.common.paths import SHARDS, SUBWORDS
from tasks.common.settings import read_corpus
from transformer.io.errors import run_main
from transformer.io.files import read_json
from transformer.io.progress import bar
from transformer.text.subwords import PAD, Subwords

STAGES = ("corpus", "subwords", "shards")
CONTENDERS = ["ours", "datasets", "fairseq"]
NAME = "made-up"
LIMIT = 7200.0  # seconds of one command, at most

Run = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.data", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pairs", type=int, nargs="*", default=[1_000_000, 4_500_000, 9_000_000], help="sizes of the whole road"
    )
    parser.add_argument("--settings", default="wmt14-en-de", help="a corpus of params.yaml (default wmt14-en-de)")
    parser.add_argument("--side-by-side", type=int, default=290_000, help="pairs beside others (default 290,000)")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each beside others (default 3)")
    chosen = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    for pairs in chosen.pairs:
        keep(f"{chosen.settings}, {pairs:,} pairs", measure_road(pairs, chosen.settings))
    if chosen.rounds:
        measure_others(chosen)
    print(data_report.tables(read_json(data_report.PAGE.results)))


def keep(part: str, found: Run) -> None:
    """Put one part of the results in the place of what was measured for it before, and write the report."""
    known = read_json(data_report.PAGE.results) if data_report.PAGE.results.exists() else {}
    data_report.PAGE.save(known | {part: found})


def make_project(text: Path, settings: str, folder: Path) -> None:
    """A params.yaml of its own: one corpus with these settings and this text."""
    read_corpus(settings, path=CHECKOUT / "params.yaml")  # an unknown name ends here
    params = yaml.safe_load((CHECKOUT / "params.yaml").read_text(encoding="utf-8"))
    files = {"valid": "valid.{}", "test": "test.{}", "train": "train.{}.gz"}
    corpus = params["corpora"][settings] | {
        "languages": dict(zip(("source", "target"), LANGUAGES, strict=True)),
        "origin": {"kind": "files", "folder": str(text.absolute())}
        | {split: [name.format(language) for language in LANGUAGES] for split, name in files.items()},
    }
    everything = {"corpora": {NAME: corpus}, "presets": {}, "experiments": {}, "max_restarts": 0}
    (folder / "params.yaml").write_text(yaml.safe_dump(everything), encoding="utf-8")


def measure_road(pairs: int, settings: str) -> Run:
    """Every stage once, from raw files to shards, the learning of sub-words included."""
    text = made_up_text(pairs)
    results = {**facts(), "kind": "road", "text": read_json(text / "facts.json"), "runs": []}
    with tempfile.TemporaryDirectory(dir=FOLDER) as temporary, bar(len(STAGES), f"{pairs:,} pairs", "stage") as shown:
        make_project(text, settings, Path(temporary))
        for stage in STAGES:
            load = psutil.cpu_percent(interval=1)
            results["runs"].append({"step": stage, "load": load, **run_step(stage_step(stage), temporary)})
            if "error" in results["runs"][-1]:
                break
            shown.update()
        else:
            results["made"] = sizes(Path(temporary))
    return results


def sizes(project: Path) -> Run:
    """What is in the shards of a project."""
    train = read_json(project / SHARDS / NAME / "manifest.json")["splits"]["train"]
    vocabulary = read_json(project / SUBWORDS / NAME / "subwords.json")["vocabulary"]
    return {
        "pairs": train["pairs"],
        "subwords": train["source_tokens"] + train["target_tokens"],
        "vocabulary": vocabulary,
    }


@dataclass(frozen=True)
class Step:
    """A command, and the name under which its seconds stand in the report."""

    name: str
    command: list[str]


def stage_step(stage: str) -> Step:
    """One of the pipeline's own."""
    return Step(stage, [sys.executable, "-m", f"tasks.{stage}", NAME])


def run_step(step: Step, folder: str) -> Run:
    """What one command took, or why it failed."""
    log = FOLDER / "logs" / f"data-{'-'.join(step.name.split())}.log"
    found = run_measured(step.command, Path(folder), log, LIMIT)
    said = last_line(log.read_text(encoding="utf-8", errors="replace"))
    return found | (json.loads(said) if said.startswith('{"subwords"') else {})


def measure_others(chosen: argparse.Namespace) -> None:
    """All rounds; the report is written after each, so that whatever stops it leaves what was measured."""
    text = made_up_text(chosen.side_by_side)
    results: Run = {**facts(), "kind": "others", "contenders": chosen.contenders, "runs": []}
    results["text"] = read_json(text / "facts.json")
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as temporary,
        bar(chosen.rounds * len(chosen.contenders), "benchmarks.data", "run") as shown,
    ):
        project = Path(temporary)
        make_project(text, chosen.settings, project)
        for stage in ("corpus", "subwords"):
            if error := run_step(stage_step(stage), temporary).get("error"):
                raise RuntimeError(f"stage {stage}: {error}")
        for number in range(1, chosen.rounds + 1):
            for contender in chosen.contenders:
                run = {"round": number, "contender": contender}
                if not failed_before(results["runs"], run):
                    run["load"] = psutil.cpu_percent(interval=1)
                    results["runs"].append(run | run_contender(contender, text, project, results["cores"]))
                shown.update()
            keep("beside others", results)


def run_contender(contender: str, text: Path, project: Path, cores: int) -> Run:
    """Its steps one after the other, each with what it took."""
    out = project / contender
    out.mkdir()
    found: Run = {"toolkit": toolkit(contender), "steps": {}}
    try:
        for step in STEPS[contender](text.absolute(), project.absolute(), out.absolute(), cores):
            taken = run_step(step, str(project))
            if "error" in taken:
                return {"error": f"{step.name}: {taken['error']}"}
            found["subwords"] = taken.pop("subwords", found.get("subwords"))
            found["steps"][step.name] = taken
    except NotInstalled as error:
        return {"error": f"not installed: {error}"}
    finally:
        shutil.rmtree(out)
    return found if contender != "ours" else found | {"subwords": sizes(project)["subwords"]}


def toolkit(contender: str) -> str:
    """Its name and version."""
    if contender == "fairseq":
        return (ENVIRONMENTS / "fairseq.txt").read_text(encoding="utf-8").split()[0].replace("==", " ")
    return f"datasets {version('datasets')}" if contender == "datasets" else contender


def ours(text: Path, project: Path, out: Path, cores: int) -> list[Step]:
    """The stages that clean and encode; what the round before has written must not spare them work."""
    shutil.rmtree(project / SHARDS, ignore_errors=True)
    return [stage_step("corpus"), stage_step("shards")]


def fairseq(text: Path, project: Path, out: Path, cores: int) -> list[Step]:
    """Our encoding, then fairseq-preprocess, which is given the vocabulary."""
    python, model = str(python_for("fairseq")), project / SUBWORDS / NAME / "subwords.model"
    subwords = Subwords(model)
    words = [piece for i, piece in enumerate(subwords.pieces(range(subwords.size))) if i not in range(PAD, PAD + 4)]
    (out / "dictionary.txt").write_text("".join(f"{word} 1\n" for word in words), encoding="utf-8")
    files = [str(path) for code in LANGUAGES for path in (text / f"train.{code}.gz", out / f"train.{code}")]
    options = [
        "--source-lang", LANGUAGES[0], "--target-lang", LANGUAGES[1], "--trainpref", str(out / "train"),
        "--destdir", str(out / "binary"), "--joined-dictionary", "--srcdict", str(out / "dictionary.txt"),
        "--workers", str(4 * cores + 1),  # it reads the first of so many parts alone, once the others are done
    ]  # fmt: skip
    return [
        Step("our encoding to pieces", [sys.executable, "-m", "benchmarks.preparers.pieces", str(model), *files]),
        Step("fairseq-preprocess", [python, "-m", "fairseq_cli.preprocess", *options]),
    ]


def datasets(text: Path, project: Path, out: Path, cores: int) -> list[Step]:
    """Hugging Face `datasets`, with sentencepiece's own encoding and a process for each core."""
    model, files = project / SUBWORDS / NAME / "subwords.model", [str(text / f"train.{code}.gz") for code in LANGUAGES]
    script = [sys.executable, "-m", "benchmarks.preparers.hf_datasets"]
    return [Step("load, map and save", [*script, str(model), str(cores), str(out), *files])]


STEPS: dict[str, Callable[[Path, Path, Path, int], list[Step]]] = {
    "ours": ours, "fairseq": fairseq, "datasets": datasets
}  # fmt: skip


if __name__ == "__main__":
    run_main(main)
