"""Perplexity of given translations: e to the mean negative log-likelihood.

Per sub-word it is the paper's measure (Table 3), which compares only within one vocabulary; per word it compares across
vocabularies. End symbols count as sub-words and as words, since the model must say them too.
"""

import sys
from itertools import compress

import torch

from transformer.batches import collate, in_parts
from transformer.io.errors import InputError
from transformer.io.shards import Pairs
from transformer.loss import perplexity_of, smoothed_loss
from transformer.text.preparation import Preparation
from transformer.text.sentences import check_counts, without_spaces
from transformer.translator import Translator

TOKENS_AT_ONCE = 4096


@torch.inference_mode()
def perplexity(translator: Translator, sources: list[str], targets: list[str]) -> dict[str, float | None]:
    """Per sub-word and per word (by white space, in the raw text), and the sums that both come from.

    What is of words is None if the targets are written without spaces between them. A perplexity that no float holds,
    as that of one long word in many sub-words, is infinite.
    Pairs with a side of more sub-words than the translator takes at once are left out, and named on standard error.

    Args:
        translator: its model is the one that is measured, in fp32.
        sources: raw text, one sentence a line.
        targets: their translations, raw.

    Raises:
        InputError: the numbers of lines differ, or there are none.
    """
    check_counts(sources=sources, targets=targets)
    prepare = Preparation(translator.config.text, translator.config.target_language).prepare
    source, target = translator.encode(sources), translator.subwords.encode(map(prepare, targets))
    fit = [max(map(len, pair)) <= translator.most for pair in zip(source, target, strict=True)]
    if not any(fit):
        raise InputError(f"no pair is within the {translator.most:,} sub-words that the model takes at once")
    if not all(fit):
        lines = ", ".join(str(line) for line, does in enumerate(fit, start=1) if not does)
        print(f"perplexity: without what is longer than {translator.most:,} sub-words: line {lines}", file=sys.stderr)
        source, target = (list(compress(side, fit)) for side in (source, target))
        targets = list(compress(targets, fit))
    pairs = Pairs.of(source, target)
    nats, model = 0.0, translator.model
    for part in in_parts(pairs.source_lengths + 1, pairs.target_lengths + 1, TOKENS_AT_ONCE):
        batch = collate(pairs, part).to(model.embedding.device)
        y_BTD = model(batch.source_BS, batch.target_BT, batch.mask)
        y_ND = y_BTD.flatten(0, 1).index_select(0, batch.positions_N)
        nats += smoothed_loss(y_ND, model.embedding, batch.gold_N, label_smoothing=0.0)[1].item()
    subwords = sum(map(len, target)) + len(target)
    words = None if without_spaces(targets) else sum(len(line.split()) for line in targets) + len(targets)
    return {
        "per_subword": perplexity_of(nats / subwords),
        "per_word": perplexity_of(nats / words) if words else None,
        "nats": nats,
        "subwords": subwords,
        "words": words,
    }
