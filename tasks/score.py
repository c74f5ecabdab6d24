"""Score an experiment's outputs: all that the reports need of it, in one small file that is kept in git.

python -m tasks.score tiny

data/corpora/C/{valid,test}.*  outputs/E/
  -> reports/scores/E.json     scores with signatures, the training's facts and curve
     reports/outputs/E.md      what the outputs look like, with a picture (quotes the corpus: not in git)

BLEU is of three kinds, which compare only among themselves: `bleu`, sacreBLEU on plain text against raw references;
`bleu_lowercase`, the same with case ignored; `bleu_lowercase_tokens`, on tokens in lower case as the Moses tokeniser
cuts them, in which scores on Multi30k are published. Outputs that are in lower case cannot do well by the first.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import sacrebleu

from tasks.lines import read_lines
from tasks.outputs_page import write_page
from tasks.paths import CORPORA, OUTPUTS, REPORTS
from tasks.settings import key_argument, read_experiment
from tasks.tracking import tracked
from transformer.errors import InputError, run_main
from transformer.files import read_json, write_json
from transformer.settings import TextSettings
from transformer.text import Preparation

SECTIONS = ("corpus",)
LOGGED = ("bleu", "bleu_lowercase", "bleu_lowercase_tokens", "chrf")  # in MLflow, for each split


def main() -> None:
    """Score one experiment."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, *SECTIONS)
    corpus, outputs = CORPORA / settings.corpus, OUTPUTS / experiment
    translation = read_json(outputs / "translation.json")
    training = translation["training"]
    description = read_json(corpus / "corpus.json")
    with tracked(experiment, training["mlflow_run"]) as run:
        languages = training["languages"]
        splits = {split: score_split(corpus, outputs, split, languages) for split in ("valid", "test")}
        texts = zip(*read_split(corpus, outputs, "test", languages), strict=True)
        title, lowercase = f"{experiment} on {description['test_set']}", translation["text"]["lowercase"]
        page = REPORTS / "outputs" / f"{experiment}.md"
        for path in write_page(page, title, texts, lowercase, outputs / "test.cut.txt"):
            run.artifact(path)
        about = {"test_set": description["test_set"], "pairs": description["pairs"], "sha256": description["sha256"]}
        scores = {"corpus": about, "scores": splits, **translation}
        write_json(REPORTS / "scores" / f"{experiment}.json", scores)
        flat = {f"{split}_{name}": splits[split][name]["score"] for split in splits for name in LOGGED}
        run.metrics(training["update"], flat)
        print(f"{experiment}: BLEU {flat['test_bleu']:.2f}, chrF {flat['test_chrf']:.2f} on {description['test_set']}")
        if translation["text"]["lowercase"]:
            plain, tokens = flat["test_bleu_lowercase"], flat["test_bleu_lowercase_tokens"]
            print(f"case ignored: BLEU {plain:.2f}; on lower-cased tokens: {tokens:.2f}")


def score_split(corpus: Path, outputs: Path, split: str, languages: dict[str, str]) -> dict[str, Any]:
    """The three kinds of BLEU and chrF of one split, and the BLEU of the untranslated source for comparison.

    Tokens are those that the model wrote, if it writes such; other outputs are tokenised here.
    """
    sources, references, hypotheses = read_split(corpus, outputs, split, languages)
    moses = Preparation(TextSettings(lowercase=True, tokenise="moses"), languages["target"])
    written = outputs / f"{split}.tokens.{languages['target']}"
    tokens = read_lines(written) if written.exists() else [moses.prepare(line) for line in hypotheses]
    return {
        "sentences": len(references),
        "bleu": _metric(sacrebleu.BLEU(), hypotheses, references),
        "bleu_lowercase": _metric(sacrebleu.BLEU(lowercase=True), hypotheses, references),
        "bleu_lowercase_tokens": _bleu_of_tokens(tokens, [moses.prepare(line) for line in references]),
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


def _bleu_of_tokens(hypotheses: list[str], references: list[str]) -> dict[str, Any]:
    """BLEU up to 4-grams on tokens in lower case, and what it is made of."""
    metric = sacrebleu.BLEU(lowercase=True, tokenize="none", force=True)  # force: no warning, tokens are meant here
    result = metric.corpus_score(hypotheses, [references])
    return {
        "score": result.score,
        "precisions": result.precisions,
        "brevity_penalty": result.bp,
        "output_tokens": result.sys_len,
        "reference_tokens": result.ref_len,
        "signature": f"{metric.get_signature()}, tokens of sacremoses {version('sacremoses')}",
    }


if __name__ == "__main__":
    run_main(main)
