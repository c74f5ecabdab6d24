"""Translate the valid and test splits of an experiment's corpus, and ten English sentences of our own.

python -m tasks.translate tiny

data/corpora/C/{valid,test}.*  models/E/
  -> outputs/E/valid.TARGET  test.TARGET    line i translates line i
     outputs/E/valid.tokens.TARGET  ...     the same as tokens, if the model was trained on such
     outputs/E/valid.cut.txt  test.cut.txt  numbers of the lines that the search's length limit cut
     outputs/E/translation.json             counts, perplexities, seconds, and what training.json of the model says
"""

import time
from pathlib import Path
from typing import Any

from tasks.lines import read_lines, write_lines
from tasks.paths import CORPORA, MODELS, OUTPUTS
from tasks.settings import key_argument, read_experiment
from tasks.tracking import tracked
from transformer.errors import run_main
from transformer.files import read_json, whole_folder, write_json
from transformer.perplexity import perplexity
from transformer.subwords import UNK
from transformer.translator import Translator

SECTIONS = ("corpus",)
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
    """Write the outputs folder; returns the counts and times that stand in translation.json."""
    translator = Translator.load(model)
    config = translator.config
    source, target = config.source_language, config.target_language
    facts: dict[str, Any] = {"search": config.search.model_dump(), "text": config.text.model_dump(), "splits": {}}
    seconds, sentences = 0.0, 0
    with whole_folder(folder) as temporary:
        for split in ("valid", "test"):
            lines = read_lines(corpus / f"{split}.{source}")
            started = time.monotonic()
            found = translator.search(lines, show=True)
            seconds += time.monotonic() - started
            prepared = translator.decode(found)
            write_lines(temporary / f"{split}.{target}", translator.restore(prepared))
            if config.text.tokenise != "none":
                write_lines(temporary / f"{split}.tokens.{target}", prepared)
            cut = [str(number) for number, hypothesis in enumerate(found, start=1) if hypothesis.cut]
            write_lines(temporary / f"{split}.cut.txt", cut)
            sentences += len(lines)
            references = read_lines(corpus / f"{split}.{target}")
            facts["splits"][split] = {
                "perplexity": perplexity(translator, lines, references),
                "sentences": len(lines),
                "cut_at_the_length_limit": sum(hypothesis.cut for hypothesis in found),
                "unknown_in_source": sum(ids.count(UNK) for ids in translator.encode(lines)),
                "unknown_in_output": sum(hypothesis.ids.count(UNK) for hypothesis in found),
            }
        facts |= {"seconds": seconds, "speed": sentences / seconds}
        ours = read_lines(OUR_SENTENCES) if source == "en" else []
        facts["ours"] = [list(pair) for pair in zip(ours, translator.translate(ours), strict=True)]
        write_json(temporary / "translation.json", {**facts, "training": training})
    return facts


if __name__ == "__main__":
    run_main(main)
