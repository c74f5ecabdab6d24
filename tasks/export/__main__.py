"""Export a model to CTranslate2, which translates on a CPU without PyTorch, and compare its outputs with ours.

python -m tasks.export tiny        (needs `make install-export`)

models/E/  data/corpora/C/test.*
  -> exports/E/ctranslate2/       weights in fp32
     exports/E/ctranslate2-int8/  matrices in 8 bits: a quarter of the size
     exports/E/subwords.model     as in the model
     exports/E/README.md          how to use them, speed and BLEU of each, how many outputs are the same as ours

Compared are sub-words of up to 1,000 sentences of the test split. CTranslate2 divides scores by |Y| ** alpha and knows
no other penalty; so ours does here, and lets an output end where that library would (`ends_within_beam`).
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from tasks.common.paths import CORPORA, EXPORTS, MODELS
from tasks.common.settings import key_argument, read_experiment
from tasks.export.card import BATCH, card
from tasks.export.comparison import Search, bleu, compare, our_search, read_test
from tasks.scoring.bleu import bleu_metric
from transformer.io.errors import InputError, run_main
from transformer.io.files import whole_folder
from transformer.translator import Translator

FORMS = {"ctranslate2": "float32", "ctranslate2-int8": "int8"}  # folder: how matrices are kept
ENOUGH = 0.99  # of the outputs in fp32 are the same, or something is wrong


def main() -> None:
    """Export one experiment's model."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, "corpus")
    export(MODELS / experiment, CORPORA / settings.corpus, EXPORTS / experiment)


def export(model: Path, corpus: Path, folder: Path) -> None:
    """Write the export; InputError if the model does not fit the format, or something is missing."""
    try:
        from tasks.export import ctranslate2_model  # here, because few need that library
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed: run `make install-export`") from None
    translator = Translator.load(model)
    if translator.config.text.trees:
        raise InputError(f"{model}: this model parses; only models that translate are exported")
    ctranslate2_model.check_settings(translator.config.model)
    pieces = translator.subwords.pieces(range(translator.subwords.size))
    sources, references = read_test(corpus, translator)
    bleu_metric(translator.config.target_language, references)  # its tokeniser is there, before minutes of search
    with whole_folder(folder) as temporary:
        shutil.copyfile(model / "subwords.model", temporary / "subwords.model")
        for name, quantization in FORMS.items():
            (temporary / name).mkdir()
            ctranslate2_model.write(translator.model, pieces, temporary / name, quantization)
        loaded = {
            name: ctranslate2_model.load(temporary / name, translator.model.embedding.device.type) for name in FORMS
        }

        def theirs(name: str, patience: float) -> Search:
            searcher = ctranslate2_model.CTranslate2Search(loaded[name], pieces, patience, BATCH)
            return lambda settings: searcher.search(sources, settings)

        found = compare(our_search(translator, sources), theirs, translator.config.search)
        found["bleu"] = {name: bleu(translator, outputs, references) for name, outputs in found.pop("outputs").items()}
        text = card(folder.name, translator.config, translator.subwords.kind, found)
        (temporary / "README.md").write_text(text, encoding="utf-8")
    tell(folder, found)


def tell(folder: Path, found: dict[str, Any]) -> None:
    """What the user sees at the end."""
    for name, agreement in found["agreements"].items():
        print(f"{folder}: {name}: {agreement.share:.1%} of {agreement.sentences} outputs are the same as ours")
    for name, speed in found["speeds"].items():
        print(f"{folder}: {name}: {speed:,.0f} sentences/s, BLEU {found['bleu'][name]['score']:.2f}")
    if min(agreement.share for agreement in list(found["agreements"].values())[:2]) < ENOUGH:
        print(f"{folder}: warning: fewer than {ENOUGH:.0%} are the same in fp32; see its README.md", file=sys.stderr)


if __name__ == "__main__":
    run_main(main)
