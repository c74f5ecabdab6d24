"""Translate the valid and test splits of an experiment's corpus, and ten English sentences of our own.

python -m tasks.translate tiny

data/corpora/C/{valid,test}.*  models/E/
  -> outputs/E/valid.TARGET  test.TARGET    line i translates line i
     outputs/E/valid.tokens.TARGET  ...     the same as tokens, if the model was trained on such
     outputs/E/valid.cut.txt  test.cut.txt  numbers of the lines that the search's length limit cut
     outputs/E/translation.json             counts, perplexities, seconds, hashes, and the model's training.json

Where the target is trees, tasks/parse.py says what is written.
"""

import time
from pathlib import Path
from typing import Any

from tasks.lines import read_lines, read_parallel, write_lines
from tasks.parse import parse_splits
from tasks.paths import CORPORA, MODELS, OUTPUTS
from tasks.settings import key_argument, read_experiment
from tasks.tracking import tracked
from transformer.errors import run_main
from transformer.files import read_json, sha256, whole_folder, write_json
from transformer.noted import check_files
from transformer.parser import Parser
from transformer.perplexity import perplexity
from transformer.subwords import UNK
from transformer.translator import Translator
from transformer.trees import write_brackets

SECTIONS = ("corpus",)
SPLITS = ("valid", "test")
OUR_SENTENCES = Path(__file__).with_name("sentences.txt")


def main() -> None:
    """Translate with one experiment's model."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, *SECTIONS)
    model = MODELS / experiment
    training = read_json(model / "training.json")
    with tracked(experiment, training["mlflow_run"]) as run:
        facts = translate(CORPORA / settings.corpus, model, training, OUTPUTS / experiment)
        run.metrics(training["update"], {"search_seconds": facts["seconds"], "sentences_per_second": facts["speed"]})
        run.model(model)


def translate(corpus: Path, model: Path, training: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write the outputs folder; returns the counts and times that stand in translation.json.

    InputError names a file of the corpus that is damaged.
    """
    translator = Translator.load(model)
    config = translator.config
    noted = read_json(corpus / "corpus.json").get("sha256", {})
    languages = config.source_language, config.target_language
    check_files(corpus, noted, [f"{split}.{code}" for split in ("valid", "test") for code in languages])
    with whole_folder(folder) as temporary:
        splits = (parse_splits if config.text.trees else translate_splits)(translator, corpus, temporary)
        seconds, sentences = (sum(split[key] for split in splits.values()) for key in ("seconds", "sentences"))
        facts = {
            "search": config.search.model_dump(),
            "text": config.text.model_dump(exclude_none=True),
            "splits": splits,
            "seconds": seconds,
            "speed": sentences / seconds,
            "ours": _ours(translator),
        }
        noted = {path.name: sha256(path) for path in sorted(temporary.iterdir())}
        write_json(temporary / "translation.json", {**facts, "training": training, "sha256": noted})
    return facts


def translate_splits(translator: Translator, corpus: Path, folder: Path) -> dict[str, Any]:
    """Write the translations of valid and test into a folder; counts and times of each."""
    config = translator.config
    languages = config.source_language, config.target_language
    texts = {split: read_parallel(*(corpus / f"{split}.{language}" for language in languages)) for split in SPLITS}
    splits: dict[str, Any] = {}
    for split, (lines, references) in texts.items():
        started = time.monotonic()
        found = translator.search(lines, show=True)
        seconds = time.monotonic() - started
        prepared = translator.decode(found)
        write_lines(folder / f"{split}.{config.target_language}", translator.restore(prepared))
        if config.text.tokenise != "none":
            write_lines(folder / f"{split}.tokens.{config.target_language}", prepared)
        cut = [str(number) for number, hypothesis in enumerate(found, start=1) if hypothesis.cut]
        write_lines(folder / f"{split}.cut.txt", cut)
        splits[split] = {
            "perplexity": perplexity(translator, lines, references),
            "sentences": len(lines),
            "seconds": seconds,
            "cut_at_the_length_limit": len(cut),
            "translated_in_parts": sum(len(ids) > translator.most for ids in translator.encode(lines)),
            "unknown_in_source": sum(ids.count(UNK) for ids in translator.encode(lines)),
            "unknown_in_output": sum(hypothesis.ids.count(UNK) for hypothesis in found),
        }
    return splits


def _ours(translator: Translator) -> list[list[str]]:
    """Each of ten English sentences of our own with what the model makes of it."""
    if translator.config.source_language != "en":
        return []
    lines = read_lines(OUR_SENTENCES)
    if translator.config.text.trees:
        outputs = [write_brackets(parsed.tree) for parsed in Parser(translator).parse_text(lines)]
    else:
        outputs = translator.translate(lines)
    return [list(pair) for pair in zip(lines, outputs, strict=True)]


if __name__ == "__main__":
    run_main(main)
