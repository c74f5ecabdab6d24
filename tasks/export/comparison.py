"""Our search of a model beside CTranslate2's, on the same sub-words: agreement, speed, outputs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks.common.lines import read_parallel
from tasks.export.agreement import agree
from tasks.export.card import ALPHA
from tasks.scoring.bleu import Score, plain_bleu
from transformer.io.errors import InputError
from transformer.search import Hypothesis
from transformer.settings import SearchSettings
from transformer.translator import Translator

SENTENCES = 1000
OURS, OURS_LIKE_THEIRS = "`python -m transformer`", "the same with the penalty of CTranslate2"
# At alpha 0 both searches end when nothing better can come. Otherwise CTranslate2's ends sooner, unless it is patient.
PATIENCE = 4.0

Search = Callable[[SearchSettings], list[Hypothesis]]


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
