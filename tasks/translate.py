"""Translate the valid and test splits of an experiment's corpus, and ten English sentences of our own.

python -m tasks.translate tiny

data/corpora/C/{valid,test}.*  models/E/
  -> outputs/E/valid.TARGET  test.TARGET    line i translates line i
     outputs/E/valid.tokens.TARGET  ...     the same as tokens, if the model was trained on such
     outputs/E/valid.cut.txt  test.cut.txt  numbers of the lines that the search's length limit cut
     outputs/E/translation.json             counts, perplexities, seconds, hashes, and the model's training.json

Where the target is trees, the words of valid and test are parsed:

  -> outputs/E/valid.tree  test.tree        a tree over the words of line i, in brackets, of any output, repaired
     outputs/E/test.well_formed.tree        the same of a search for well-formed outputs only
     outputs/E/valid.symbols.tree  ...      what the model wrote
     outputs/E/valid.repaired.txt  ...      numbers of the lines that needed repair
"""

import sys
import time
from pathlib import Path
from typing import Any

from tasks.common.lines import read_lines, read_parallel, write_lines
from tasks.common.noted import check_files
from tasks.common.paths import CORPORA, MODELS, OUTPUTS
from tasks.common.settings import key_argument, read_experiment
from tasks.scoring.trees import SEARCHES
from tasks.tracking.run import tracked
from transformer.inspect.perplexity import perplexity
from transformer.io.errors import run_main
from transformer.io.files import read_json, sha256, whole_folder, write_json
from transformer.parsing.parser import Parser
from transformer.text.subwords import UNK
from transformer.text.trees import write_brackets
from transformer.translator import Translator

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


def parse_splits(translator: Translator, corpus: Path, folder: Path) -> dict[str, Any]:
    """Write the trees into a folder; counts and times of each search, by the names in `SEARCHES`."""
    parser, config = Parser(translator), translator.config
    languages = config.source_language, config.target_language
    names = {split for split, _ in SEARCHES.values()}
    texts = {split: read_parallel(*(corpus / f"{split}.{language}" for language in languages)) for split in names}
    splits: dict[str, Any] = {}
    for stem, (split, well_formed) in SEARCHES.items():
        lines, references = texts[split]
        started = time.monotonic()
        parsed = parser.parse([line.split(" ") for line in lines], show=True, well_formed=well_formed)
        seconds = time.monotonic() - started
        encoded = translator.encode(lines)
        for number, ids in enumerate(encoded, start=1):
            if len(ids) > translator.most:
                said = f"{split}, line {number}: more than the {translator.most:,} sub-words that are searched at once"
                print(f"{said}, so a flat tree", file=sys.stderr, flush=True)
        write_lines(folder / f"{stem}.tree", [write_brackets(one.tree) for one in parsed])
        write_lines(folder / f"{stem}.symbols.tree", translator.decode([one.output for one in parsed]))
        for fault, found in (("cut", [p.output.cut for p in parsed]), ("repaired", [p.repaired for p in parsed])):
            write_lines(folder / f"{stem}.{fault}.txt", [str(line) for line, so in enumerate(found, 1) if so])
        splits[stem] = {
            "sentences": len(lines),
            "cut_at_the_length_limit": sum(one.output.cut for one in parsed),
            "repaired": sum(one.repaired for one in parsed),
            "unknown_in_source": sum(ids.count(UNK) for ids in encoded),
            "seconds": seconds,
            "sentences_per_second": len(lines) / seconds,
        }
        if not well_formed:
            splits[stem]["perplexity"] = perplexity(translator, lines, references)
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
