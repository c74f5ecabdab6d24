"""Is one experiment better than another by more than luck? Two tests on the sentences of the test split.

    python -m tasks.compare multi30k-tiny-seed2 multi30k-tiny      # the second is the baseline

    data/corpora/C/test.*  outputs/E/test.TARGET  outputs/BASELINE/test.TARGET
      -> reports/comparisons/E.json      p-values of both tests; the reports print them

Paired bootstrap (Koehn 2004): the test set is drawn anew from its own sentences, and the p-value tells how often a
difference as large appears where there is none. Approximate randomisation (Riezler and Maxwell 2005): the two outputs
of a sentence change places by the toss of a coin. Both are sacreBLEU's, with a fixed seed. They see the luck of the
test set only; that of a training shows in experiments that differ in nothing but the seed.
"""

import argparse
from pathlib import Path
from typing import Any

import sacrebleu
from sacrebleu.significance import PairedTest

from tasks.common.lines import read_parallel
from tasks.common.paths import CORPORA, OUTPUTS, REPORTS
from tasks.common.settings import read_experiment
from tasks.scoring.bleu import bleu_metric, papers_tokens
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, write_json
from transformer.io.progress import bar
from transformer.text.sentences import without_spaces

TESTS = {"bs": "bootstrap", "ar": "randomisation"}  # sacreBLEU's names, and ours


def main() -> None:
    """Compare two experiments."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiment", help="a key of `experiments` in params.yaml")
    parser.add_argument("baseline", help="the one that it is compared with")
    names = parser.parse_args()
    if names.experiment == names.baseline:
        raise InputError(f"{names.experiment}: compared with itself; name another experiment as the baseline")
    corpora = [CORPORA / read_experiment(name, "corpus").corpus for name in (names.experiment, names.baseline)]
    folders = [OUTPUTS / name for name in (names.experiment, names.baseline)]
    found = compare(corpora, folders)
    write_json(
        REPORTS / "comparisons" / f"{names.experiment}.json",
        {"experiment": names.experiment, "baseline": names.baseline, **found},
    )
    for name, metric in found["metrics"].items():
        print(
            f"{name}: {metric['score']:.2f}, baseline {metric['baseline']:.2f}; p = {metric['p_bootstrap']:.4f} by "
            f"bootstrap, {metric['p_randomisation']:.4f} by randomisation"
        )


def compare(corpora: list[Path], folders: list[Path]) -> dict[str, Any]:
    """Scores and p-values on the test split.

    Args:
        corpora: of the experiment and of the baseline; their references must be the same.
        folders: with the outputs of both.

    Raises:
        InputError: they were not tested on the same sentences, one has no outputs, or a tokeniser is missing.
    """
    training = read_json(folders[0] / "translation.json")["training"]
    target = training["languages"]["target"]
    if target == "tree":
        raise InputError(f"{folders[0]}: trees; only translations are compared")
    (references, outputs), (others, baseline) = (
        read_parallel(corpus / f"test.{target}", folder / f"test.{target}")
        for corpus, folder in zip(corpora, folders, strict=True)
    )
    if references != others:
        raise InputError(f"{corpora[0]}, {corpora[1]}: their test splits differ; compare outputs on the same sentences")
    plain = outputs, baseline, references
    cut = tuple([papers_tokens(line, target) for line in side] for side in plain)
    metrics = {
        "bleu": (bleu_metric(target, references), plain),
        "bleu_lowercase": (bleu_metric(target, references, lowercase=True), plain),
        "bleu_paper": (sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True), cut),
        "chrf": (sacrebleu.CHRF(), plain),
    }
    if without_spaces(references):
        del metrics["bleu_paper"]
    results: dict[str, dict[str, float | str]] = {}
    with bar(len(metrics) * len(TESTS), "compare", "test") as shown:
        for name, (metric, sides) in metrics.items():
            results[name] = {}
            for test in TESTS:
                results[name] |= _test(test, metric, *sides)
                shown.update()
    return {"test_sentences": len(references), "metrics": results}


def _test(
    test: str, metric: Any, outputs: list[str], baseline: list[str], references: list[str]
) -> dict[str, float | str]:
    systems = [("baseline", baseline), ("experiment", outputs)]
    signatures, found = PairedTest(systems, {"it": metric}, [references], test_type=test)()
    (name,) = signatures
    theirs, ours = found[name]
    return {
        "score": ours.score,
        "baseline": theirs.score,
        # Of no difference at all sacreBLEU says that hardly any is larger.
        f"p_{TESTS[test]}": 1.0 if outputs == baseline else ours.p_value,
        f"signature_{TESTS[test]}": str(signatures[name]),
    }


if __name__ == "__main__":
    run_main(main)
