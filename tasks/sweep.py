"""BLEU and perplexity on the valid split by how many weights are averaged, and BLEU by how translations are searched.

python -m tasks.sweep tiny

runs/E/weights/  data/subwords/C/  data/corpora/C/valid.*
  -> reports/sweeps/E.json    `averaging`: with the experiment's own search; `search`: with its own averaging
     runs/E/sweep.json        each point as soon as it is measured: an interrupted sweep goes on, if of the same format

Figures of these are drawn by the stage report, and Table 3 takes from them what its rows without averaging came to.
"""

import time
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tasks.common.lines import read_parallel
from tasks.common.machine import commit, describe
from tasks.common.model_folder import describe_model, last
from tasks.common.paths import CORPORA, REPORTS, RUNS
from tasks.common.settings import key_argument, read_experiment, read_sweep
from tasks.scoring.bleu import bleu_metric, bleu_of_lowercase_tokens, papers_bleu, plain_bleu
from tasks.tracking.run import tracked
from transformer.checkpoints import average
from transformer.inspect.perplexity import perplexity
from transformer.io.errors import run_main
from transformer.io.files import read_json, write_json
from transformer.model import Transformer
from transformer.settings import SearchSettings
from transformer.text.sentences import without_spaces
from transformer.translator import Translator

SECTIONS = ("corpus", "averaging", "search")
GRID = ("last", "beams", "length_penalties")
# To be raised by hand when the same weights and settings come to other translations or scores: points of another format
# are measured anew. tests/tasks/test_sweep.py notices.
FORMAT = 1
LIBRARIES = ("sacrebleu", "sacremoses", "sentencepiece", "torch")


class Point(NamedTuple):
    """What is measured: translations by the mean of the `last` weights, searched so."""

    last: int
    search: SearchSettings


class Valid(NamedTuple):
    """The valid split, raw, and the code of its target side."""

    sources: list[str]
    references: list[str]
    language: str


def main() -> None:
    """Sweep one experiment."""
    experiment = key_argument("experiment")
    settings, grid = read_experiment(experiment, *SECTIONS), read_sweep(experiment, *GRID)
    run_folder, corpus = RUNS / experiment, CORPORA / settings.corpus
    training = read_json(run_folder / "weights" / "training.json")
    by_averaging, by_search = points(settings, grid)
    with tracked(experiment, training["mlflow_run"]) as run:
        measured = measure(by_averaging + by_search, settings, run_folder, training, corpus)
        path = REPORTS / "sweeps" / f"{experiment}.json"
        facts = {
            "experiment": experiment,
            "corpus": settings.corpus,
            "split": "valid",
            "own": {"last": settings.averaging.last, "search": settings.search.model_dump()},
            "averaging": [measured[point] for point in by_averaging],
            "search": [measured[point] for point in by_search],
            "training": {key: training[key] for key in ("date", "update", "made_by", "mlflow_run")},
        }
        write_json(path, facts)
        run.artifact(path)


def points(settings: Any, grid: Any) -> tuple[list[Point], list[Point]]:
    """Those that differ in averaging, and those that differ in search; the experiment's own may be in both."""
    own_last, own_search = settings.averaging.last, settings.search
    searches = [
        own_search.model_copy(update={"beam": beam, "length_penalty": alpha})
        for beam in grid.beams
        for alpha in grid.length_penalties
    ]
    return [Point(count, own_search) for count in grid.last], [Point(own_last, search) for search in searches]


def measure(
    wanted: list[Point], settings: Any, run_folder: Path, training: dict[str, Any], corpus: Path
) -> dict[Point, dict[str, Any]]:
    """Each point with what came of it; those that stand in `run_folder`/sweep.json are taken from there."""
    languages = training["languages"]
    sources, references = read_parallel(*(corpus / f"valid.{languages[side]}" for side in ("source", "target")))
    valid = Valid(sources, references, languages["target"])
    made_from = {
        "training": training["date"],
        "data": read_json(corpus / "corpus.json")["sha256"],
        "format": FORMAT,
        "tokeniser": bleu_metric(valid.language, references).tokenizer_signature,
        "made_by": {name: version(name) for name in LIBRARIES},
    }
    record = run_folder / "sweep.json"
    found = _known_points(record, made_from) if record.exists() else {}
    new = dict.fromkeys(point for point in wanted if point not in found)
    missing = sorted(new, key=lambda point: point.last)  # each mean is computed once
    made_by = {"commit": commit(), "machine": describe(devices=1)}
    for count, group in groupby(missing, key=lambda point: point.last):
        translator = load(settings, run_folder / "weights", training, count)
        per_subword = perplexity(translator, valid.sources, valid.references)["per_subword"]
        for point in group:
            scores = translate_and_score(translator, point.search, valid)
            date = datetime.now(UTC).isoformat(timespec="seconds")
            found[point] = {**_as_dict(point), "perplexity": per_subword, **scores, "made_by": made_by, "date": date}
            write_json(record, {"made_from": made_from, "points": list(found.values())})
            print(f"{_told(point)}: BLEU {scores['bleu']:.2f}", flush=True)
    return found


def load(settings: Any, weights: Path, training: dict[str, Any], count: int) -> Translator:
    """A translator with the mean of the last `count` weights; InputError if there are fewer."""
    config, subwords = describe_model(settings, training)
    model = Transformer(config.model, subwords.size)
    model.load_state_dict(average(last(weights, count)))
    return Translator(config, model, subwords)


def translate_and_score(translator: Translator, search: SearchSettings, valid: Valid) -> dict[str, Any]:
    """BLEU in the ways of tasks/scoring/bleu.py that compare with the reports', and the seconds of the search."""
    config = translator.config.model_copy(update={"search": search})
    searcher = Translator(config, translator.model, translator.subwords)
    started = time.monotonic()
    prepared = searcher.decode(searcher.search(valid.sources, show=True))
    seconds = time.monotonic() - started
    hypotheses = searcher.restore(prepared)
    scores = {
        "bleu": plain_bleu(hypotheses, valid.references, valid.language),
        "bleu_paper": papers_bleu(hypotheses, valid.references, valid.language),
    }
    if config.text.lowercase and config.text.tokenise == "moses" and not without_spaces(valid.references):
        scores["bleu_lowercase_tokens"] = bleu_of_lowercase_tokens(prepared, valid.references, valid.language)
    signatures = {name: score["signature"] for name, score in scores.items()}
    return {**{name: score["score"] for name, score in scores.items()}, "signatures": signatures, "seconds": seconds}


def _as_dict(point: Point) -> dict[str, Any]:
    return {"last": point.last, **point.search.model_dump()}


def _known_points(record: Path, made_from: dict[str, Any]) -> dict[Point, dict[str, Any]]:
    """The points of a record that was made from the same; none of another."""
    known, fields = read_json(record), SearchSettings.model_fields
    # Records without a format are of format 1; they named source files too.
    of_known = known.get("made_from", {})
    libraries = {name: one for name, one in of_known.get("made_by", {}).items() if name in LIBRARIES}
    if {"format": 1, "tokeniser": "13a", **of_known, "made_by": libraries} != made_from:
        return {}
    return {
        Point(one["last"], SearchSettings(**{key: one[key] for key in fields if key in one})): one
        for one in known["points"]
    }


def _told(point: Point) -> str:
    return f"mean of {point.last}, beam {point.search.beam}, length penalty {point.search.length_penalty}"


if __name__ == "__main__":
    run_main(main)
