"""Score an experiment's outputs: all that the reports need of it, in one small file that is kept in git.

python -m tasks.score tiny

data/corpora/C/{valid,test}.*  outputs/E/
  -> reports/scores/E.json     scores with signatures, the training's facts and curve
     reports/outputs/E.md      some sentences beside their references (quotes the corpus: not in git)
"""

import random
from pathlib import Path
from typing import Any

import sacrebleu

from tasks.lines import read_lines
from tasks.paths import CORPORA, OUTPUTS, REPORTS
from tasks.settings import key_argument, read_experiment
from tasks.tracking import tracked
from transformer.errors import InputError, run_main
from transformer.files import read_json, whole_file, write_json

SECTIONS = ("corpus",)
SAMPLES = 20


def main() -> None:
    """Score one experiment."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, *SECTIONS)
    corpus, outputs = CORPORA / settings.corpus, OUTPUTS / experiment
    translation = read_json(outputs / "translation.json")
    training = translation["training"]
    description = read_json(corpus / "corpus.json")
    samples = REPORTS / "outputs" / f"{experiment}.md"
    with tracked(experiment, training["mlflow_run"]) as run:
        splits = {split: score_split(corpus, outputs, split, training["languages"]) for split in ("valid", "test")}
        with whole_file(samples) as temporary:
            temporary.write_text(sample_page(experiment, corpus, outputs, training["languages"]), encoding="utf-8")
        about = {"test_set": description["test_set"], "pairs": description["pairs"], "sha256": description["sha256"]}
        scores = {"corpus": about, "scores": splits, **translation}
        write_json(REPORTS / "scores" / f"{experiment}.json", scores)
        flat = {f"{split}_{name}": splits[split][name]["score"] for split in splits for name in ("bleu", "chrf")}
        run.metrics(training["update"], flat)
        run.artifact(samples)
        print(f"{experiment}: BLEU {flat['test_bleu']:.2f}, chrF {flat['test_chrf']:.2f} on {description['test_set']}")


def score_split(corpus: Path, outputs: Path, split: str, languages: dict[str, str]) -> dict[str, Any]:
    """sacreBLEU (13a, cased) and chrF of one split, and the BLEU of the untranslated source for comparison."""
    sources, references, hypotheses = read_split(corpus, outputs, split, languages)
    return {
        "sentences": len(references),
        "bleu": _metric(sacrebleu.BLEU(), hypotheses, references),
        "chrf": _metric(sacrebleu.CHRF(), hypotheses, references),
        "bleu_of_copied_source": _metric(sacrebleu.BLEU(), sources, references),
    }


def read_split(
    corpus: Path, outputs: Path, split: str, languages: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """Sources, references and hypotheses; InputError if they are not equally many."""
    paths = [
        corpus / f"{split}.{languages['source']}",
        corpus / f"{split}.{languages['target']}",
        outputs / f"{split}.{languages['target']}",
    ]
    sources, references, hypotheses = (read_lines(path) for path in paths)
    if not len(sources) == len(references) == len(hypotheses):
        counts = ", ".join(
            f"{path} {len(lines)}" for path, lines in zip(paths, (sources, references, hypotheses), strict=True)
        )
        raise InputError(f"different numbers of lines: {counts}")
    return sources, references, hypotheses


def _metric(metric: Any, hypotheses: list[str], references: list[str]) -> dict[str, Any]:
    result = metric.corpus_score(hypotheses, [references])
    return {"score": result.score, "signature": str(metric.get_signature())}


def sample_page(experiment: str, corpus: Path, outputs: Path, languages: dict[str, str]) -> str:
    """Some sentences of the test split, always the same ones, with reference and output."""
    triples = list(zip(*read_split(corpus, outputs, "test", languages), strict=True))
    chosen = random.Random(1).sample(triples, min(SAMPLES, len(triples)))
    blocks = [
        f"- source: {source}\n- reference: {reference}\n- output: {output}\n" for source, reference, output in chosen
    ]
    return f"# {experiment}: {len(chosen)} sentences of the test split\n\n" + "\n".join(blocks)


if __name__ == "__main__":
    run_main(main)
