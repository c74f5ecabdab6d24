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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks.common.lines import read_parallel
from tasks.common.paths import CORPORA, EXPORTS, MODELS
from tasks.common.settings import key_argument, read_experiment
from tasks.export.agreement import agree
from tasks.export.card import ALPHA, BATCH, card
from tasks.scoring.bleu import Score, bleu_metric, plain_bleu
from transformer.io.errors import InputError, run_main
from transformer.io.files import whole_folder
from transformer.search import Hypothesis
from transformer.settings import SearchSettings
from transformer.translator import Translator

FORMS = {"ctranslate2": "float32", "ctranslate2-int8": "int8"}  # folder: how matrices are kept
SENTENCES = 1000
OURS, OURS_LIKE_THEIRS = "`python -m transformer`", "the same with the penalty of CTranslate2"
ENOUGH = 0.99  # of the outputs in fp32 are the same, or something is wrong
# At alpha 0 both searches end when nothing better can come. Otherwise CTranslate2's ends sooner, unless it is patient.
PATIENCE = 4.0

Search = Callable[[SearchSettings], list[Hypothesis]]


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


def read_test(corpus: Path, translator: Translator) -> tuple[list[list[int]], list[str]]:
    """Of the first sentences of the test split, empty and overlong ones left out: their ids, and their references."""
    config = translator.config
    languages = config.source_language, config.target_language
    sources, references = (
        lines[:SENTENCES] for lines in read_parallel(*(corpus / f"test.{language}" for language in languages))
    )
    pairs = [
        (ids, reference)
        for ids, reference in zip(translator.encode(sources), references, strict=True)
        if 0 < len(ids) <= translator.most
    ]
    if not pairs:
        raise InputError(f"{corpus}/test.{languages[0]}: has no text to translate")
    return [ids for ids, _ in pairs], [reference for _, reference in pairs]


def bleu(translator: Translator, outputs: list[Hypothesis], references: list[str]) -> Score:
    """By sacreBLEU on plain text, without case if the model writes none."""
    config, hypotheses = translator.config, translator.restore(translator.decode(outputs))
    return plain_bleu(hypotheses, references, config.target_language, lowercase=config.text.lowercase)


def our_search(translator: Translator, sources: list[list[int]]) -> Search:
    """Our search of these sources, by whatever settings."""

    def search(settings: SearchSettings) -> list[Hypothesis]:
        config = translator.config.model_copy(update={"search": settings})
        likewise = Translator(config, translator.model, translator.subwords)
        return [best for best, *_ in likewise.search_ids(sources, 1, show=True)]

    return search


def compare(ours: Search, theirs: Callable[[str, float], Search], settings: SearchSettings) -> dict[str, Any]:
    """Agreements by their name in the card; sentences per second and outputs of each search.

    The first search is ours as the model's own `settings` have it. The others are at alpha 0.6 with the penalty that
    CTranslate2 has, and are those which the agreements speak of.
    """
    like = settings.model_copy(update={"penalty": "length", "ends_within_beam": True})
    plain, normal = (like.model_copy(update={"length_penalty": alpha}) for alpha in (0.0, ALPHA))
    searches = {
        OURS: (ours, settings),
        OURS_LIKE_THEIRS: (ours, normal),
        "CTranslate2 fp32": (theirs("ctranslate2", 1.0), normal),
        "CTranslate2 int8": (theirs("ctranslate2-int8", 1.0), normal),
    }
    measured = {name: timed(*search) for name, search in searches.items()}
    outputs = {name: found for name, (found, _) in measured.items()}
    reference = outputs[OURS_LIKE_THEIRS]
    agreements = {
        "fp32, alpha 0": agree(ours(plain), theirs("ctranslate2", 1.0)(plain)),
        f"fp32, alpha {ALPHA}, patience {PATIENCE:g}": agree(reference, theirs("ctranslate2", PATIENCE)(normal)),
        f"fp32, alpha {ALPHA}": agree(reference, outputs["CTranslate2 fp32"]),
        f"int8, alpha {ALPHA}": agree(reference, outputs["CTranslate2 int8"]),
    }
    speeds = {name: speed for name, (_, speed) in measured.items()}
    return {"agreements": agreements, "speeds": speeds, "outputs": outputs}


def timed(search: Search, settings: SearchSettings) -> tuple[list[Hypothesis], float]:
    """What a search finds, and its sentences per second."""
    started = time.perf_counter()
    found = search(settings)
    return found, len(found) / (time.perf_counter() - started)


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
