"""Translate a file with any model folder and score it, without a training or a corpus in params.yaml.

    python -m tasks.evaluate models/tiny source.en reference.de

in:   a model folder, trained here or fetched; two files of one sentence a line (plain or .gz), line for line
out:  the scores of stage `score`, printed with their signatures; no file is written

What each score is stands in tasks/scoring/bleu.py. As in stage `translate` no line is split but one that is too long
to be searched at once.
"""

import argparse
from pathlib import Path
from typing import Any

from tasks.origins.files import read_pairs
from tasks.scoring.bleu import all_scores, bleu_metric, check_not_tokenised
from transformer.io.errors import InputError, run_main
from transformer.translator import Translator


def main() -> None:
    """Print the scores."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a model folder, such as models/tiny")
    parser.add_argument("source", type=Path, help="raw text in the model's source language")
    parser.add_argument("reference", type=Path, help="its translation, as raw text")
    arguments = parser.parse_args()
    scores = evaluate(arguments.model, arguments.source, arguments.reference)
    print(f"{scores['sentences']} sentences")
    for name, value in scores.items():
        if isinstance(value, dict):
            score = "–" if value["score"] is None else f"{value['score']:.2f}"
            print(f"{name:<24} {score:>6}   {value['signature']}")


def evaluate(model: Path, source: Path, reference: Path) -> dict[str, Any]:
    """What `tasks.scoring.bleu.all_scores` says of the model's translation of `source`.

    InputError for a folder or a file that cannot be read, for files of different length, for a reference that looks
    tokenised, and for one in a language whose tokeniser is not installed.
    """
    for path in (source, reference):
        if path.is_dir() or not path.exists():
            raise InputError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
    sources, references = zip(*read_pairs([source, reference]), strict=True)
    check_not_tokenised(str(reference), list(references))  # before minutes of search, as what follows
    translator = Translator.load(model)
    config = translator.config
    if config.text.trees:
        raise InputError(f"{model}: this model parses; trees are scored with `python -m tasks.evalb`")
    bleu_metric(config.target_language, list(references))
    prepared = translator.decode(translator.search(list(sources), show=True))
    tokens = prepared if config.text.tokenise != "none" else None
    return all_scores(list(sources), list(references), translator.restore(prepared), tokens, config.target_language)


if __name__ == "__main__":
    run_main(main)
