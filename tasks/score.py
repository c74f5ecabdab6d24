"""Score an experiment's outputs: all that the reports need of it, in one small file that is kept in git.

python -m tasks.score tiny

data/corpora/C/{valid,test}.*  outputs/E/
  -> reports/scores/E.json     scores with signatures, the training's facts and curve
     reports/outputs/E.md      what the outputs look like, with a picture (quotes the corpus: not in git)

What each score is stands in tasks/scoring/bleu.py, and for trees in tasks/scoring/trees.py. Outputs in lower case
cannot do well by a cased one.
"""

from pathlib import Path
from typing import Any

from tasks.common.document import fixed
from tasks.common.lines import read_parallel
from tasks.common.noted import check_files, with_hash
from tasks.common.paths import CORPORA, OUTPUTS, REPORTS
from tasks.common.settings import key_argument, read_experiment
from tasks.results.curves import with_columns
from tasks.scoring import trees_page
from tasks.scoring.bleu import all_scores
from tasks.scoring.outputs_page import write_page
from tasks.scoring.trees import score_splits
from tasks.tracking.run import tracked
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, write_json

SECTIONS = ("corpus",)
SPLITS = ("valid", "test")
LOGGED = ("bleu", "bleu_lowercase", "bleu_lowercase_tokens", "bleu_paper", "chrf", "ter")  # in MLflow, for each split
LOGGED_OF_TREES = ("recall", "precision", "f1", "complete_match")


def main() -> None:
    """Score one experiment."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, *SECTIONS)
    corpus, outputs = CORPORA / settings.corpus, OUTPUTS / experiment
    translation = read_json(outputs / "translation.json")
    training = translation["training"]
    description = read_json(corpus / "corpus.json")
    languages = description["languages"].values()
    check_files(corpus, description["sha256"], [f"{split}.{code}" for split in SPLITS for code in languages])
    noted = translation.pop("sha256", {})
    check_files(outputs, noted, noted)
    page = REPORTS / "outputs" / f"{experiment}.md"
    title = f"{experiment} on {description['test_set']}"
    with tracked(experiment, training["mlflow_run"]) as run:
        score = _score_trees if translation["text"].get("trees") else _score_translations
        scores, logged, written = score(corpus, outputs, translation, page, title)
        for path in written:
            run.artifact(path)
        about = {"test_set": description["test_set"], "pairs": description["pairs"], "sha256": description["sha256"]}
        facts = {"corpus": about, "scores": scores, **translation, "training": with_columns(training)}
        write_json(REPORTS / "scores" / f"{experiment}.json", with_hash(facts))
        # The flow's note of an earlier failure is true no more.
        (REPORTS / "failures" / f"score@{experiment}.json").unlink(missing_ok=True)
        run.metrics(training["update"], logged)


Scored = tuple[dict[str, Any], dict[str, float], list[Path]]  # for the score file, for MLflow, and the page's files


def _score_translations(corpus: Path, outputs: Path, translation: dict[str, Any], page: Path, title: str) -> Scored:
    """Score translations, say how good they are and write their page."""
    languages, lowercase = translation["training"]["languages"], translation["text"]["lowercase"]
    splits = {split: score_split(corpus, outputs, split, languages) for split in ("valid", "test")}
    texts = zip(*read_split(corpus, outputs, "test", languages), strict=True)
    written = write_page(page, title, texts, lowercase, outputs / "test.cut.txt", languages["target"])
    found = {f"{split}_{name}": splits[split][name]["score"] for split in splits for name in LOGGED}
    flat = {name: score for name, score in found.items() if score is not None}
    print(f"{title}: BLEU {flat['test_bleu']:.2f}, chrF {flat['test_chrf']:.2f}")
    if lowercase:
        plain, tokens = found["test_bleu_lowercase"], found["test_bleu_lowercase_tokens"]
        print(f"case ignored: BLEU {plain:.2f}; on lower-cased tokens: {fixed(tokens).text}")
    return splits, flat, written


def _score_trees(corpus: Path, outputs: Path, translation: dict[str, Any], page: Path, title: str) -> Scored:
    """Score trees, say how good they are and write their page."""
    scores, parses = score_splits(corpus, outputs)
    flat = {f"{name}_{figure}": score[figure] for name, score in scores.items() for figure in LOGGED_OF_TREES}
    print(
        f"{title}: F1 {flat['test_f1']:.2f}; of a search for well-formed outputs only {flat['test.well_formed_f1']:.2f}"
    )
    return scores, flat, trees_page.write_page(page, f"{title}, any output, repaired", parses)


def score_split(corpus: Path, outputs: Path, split: str, languages: dict[str, str]) -> dict[str, Any]:
    """All scores of one split, of the tokens as the model wrote them. InputError as in tasks/scoring/bleu.py."""
    sources, references, hypotheses = read_split(corpus, outputs, split, languages)
    hypothesis, written = (outputs / f"{split}{kind}.{languages['target']}" for kind in ("", ".tokens"))
    tokens = read_parallel(hypothesis, written)[1] if written.exists() else None
    try:
        return all_scores(sources, references, hypotheses, tokens, languages["target"])
    except InputError as error:
        raise InputError(f"{outputs}, {corpus}, {split}: {error}") from None


def read_split(
    corpus: Path, outputs: Path, split: str, languages: dict[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """Sources, references and hypotheses; InputError if they are not as many."""
    source, target = languages["source"], languages["target"]
    paths = corpus / f"{split}.{source}", corpus / f"{split}.{target}", outputs / f"{split}.{target}"
    sources, references, hypotheses = read_parallel(*paths)
    return sources, references, hypotheses


if __name__ == "__main__":
    run_main(main)
