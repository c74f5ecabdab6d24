"""Raw parallel text of WMT14's real size, made from slices of real text: seeded, 4.5 million pairs in half a minute.

    python -m benchmarks.made_up_text 4_500_000

$REPRO_DATA/wmt14-slice, $REPRO_DATA/wmt14
  -> .benchmarks/text/4500000/  train.en.gz train.de.gz valid.en valid.de test.en test.de
                                facts.json   sizes, and distinct words: how many were wanted, how many there are

A sentence pair is the head of a real pair and the tail of another of like length, cut at the same share of both
languages; so lengths, frequent words and most word pairs are those of real text. Distinct words are not: 33,000 pairs
have few, a real corpus goes on to show new ones, and whatever works once for each distinct word would look too fast.
Their number grows as a power of the running words (Heaps' law), fitted to the slices. At the places of words that the
slices have once, the text has either a new word, as often as that law wants one, or one that stood at such a place
before (Simon 1955, "On a class of skew distribution functions"). A new word is the beginning of one real word and the
end of another.
"""

import argparse
import gzip
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.environments import FOLDER
from tasks.origins.files import read_pairs
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, sha256, whole_folder, write_json
from transformer.io.progress import bar

LANGUAGES = ("en", "de")
SLICES = [
    "wmt14-slice/europarl-v7-20k.en-de.raw.{}.gz",
    *[f"wmt14/{name}.en-de.{{}}.gz" for name in ("news-test2008", "newstest2009", "newstest2010", "newstest2011")],
    "wmt14/newstest2012.en-de.{}",
]
HELD_OUT = {"valid": "wmt14/newstest2013.en-de.{}", "test": "wmt14/newstest2014.en-de.{}"}
SEED = 1
CHUNK = 50_000  # pairs made at once
ALIKE = 50  # a tail comes from one of so many pairs before or behind, in the order of length
BEGINNING = 4  # characters of a new word's first part: at a fixed place no two parts give the same word twice

Ids = NDArray[np.int64]


def main(arguments: list[str] | None = None) -> None:
    """Make the text that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.made_up_text",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pairs", type=int)
    print(table([read_json(made_up_text(parser.parse_args(arguments).pairs) / "facts.json")]))


def made_up_text(pairs: int) -> Path:
    """The folder with so many training pairs; made where it is not there yet, or was made by other code than this."""
    folder, code = FOLDER / "text" / str(pairs), sha256(Path(__file__))
    if not (folder / "facts.json").exists() or read_json(folder / "facts.json")["made_by"] != code:
        with whole_folder(folder) as temporary:
            facts = write_text(data_folder(), pairs, temporary)
            write_json(temporary / "facts.json", {"pairs": pairs, "made_by": code, "languages": facts})
    return folder


def data_folder() -> Path:
    """Where the slices are; InputError if nobody says so."""
    if "REPRO_DATA" not in os.environ:
        raise InputError("REPRO_DATA is not set: it must name the folder that has the slices of WMT14's text")
    return Path(os.environ["REPRO_DATA"])


def write_text(data: Path, pairs: int, out: Path) -> dict[str, Any]:
    """Write the files; return the facts of each language. Both are made at once, and know nothing of each other."""
    for split, name in HELD_OUT.items():
        for language in LANGUAGES:
            shutil.copyfile(data / name.format(language), out / f"{split}.{language}")
    sides = list(zip(*read_slices(data), strict=True))
    lengths = np.array([len(line.split()) for line in sides[0]])
    paths = [out / f"train.{language}.gz" for language in LANGUAGES]
    with ProcessPoolExecutor(len(LANGUAGES)) as pool:
        facts = pool.map(write_side, sides, [lengths] * 2, [pairs] * 2, paths)
        return dict(zip(LANGUAGES, facts, strict=True))


def read_slices(data: Path) -> list[tuple[str, str]]:
    """The real pairs, without those that have an empty side; InputError if a file is missing."""
    paths = [[data / name.format(language) for language in LANGUAGES] for name in SLICES]
    for path in itertools.chain(*paths):
        if not path.is_file():
            raise InputError(f"{path}: no such file; REPRO_DATA must name the folder that has it")
    return [pair for files in paths for pair in read_pairs(files) if all(map(str.split, pair))]


@dataclass(frozen=True)
class Growth:
    """Distinct words in n running words: scale * n ** exponent (Heaps' law)."""

    scale: float
    exponent: float

    def words(self, running: float) -> float:
        """Distinct words wanted in so many running ones."""
        return float(self.scale * running**self.exponent)


def fit_growth(ids_N: Ids) -> Growth:
    """Fitted to a text of N words, to its last four doublings: before them the curve is steeper than a power.

    It bends a little even there, so that what the fit says of a far larger text is rather too many words than too few.
    """
    first = np.sort(np.unique(ids_N, return_index=True)[1])
    running = np.geomspace(len(ids_N) / 16, len(ids_N), 40)
    exponent, scale = np.polyfit(np.log(running), np.log(np.searchsorted(first, running)), 1)
    return Growth(float(np.exp(scale)), float(exponent))


def write_side(lines: tuple[str, ...], lengths: Ids, pairs: int, path: Path) -> dict[str, Any]:
    """Write one language's file from its real lines.

    Args:
        lines: of the slices, none empty.
        lengths: of the source lines in words: both languages must cut and join the same pairs.
        pairs: to be made.
        path: of the file, `.gz`.
    """
    text = RealText(lines)
    words = GrowingWords(text, np.random.default_rng([SEED, 1, *path.name.encode()]))
    histogram: Counter[int] = Counter()
    with (
        gzip.open(path, "wt", encoding="utf-8", newline="\n", compresslevel=1) as file,
        bar(pairs, f"making {path.name}", "lines") as shown,
    ):
        for cuts in draw_cuts(lengths, pairs):
            ids, ends = text.join(*cuts)
            file.writelines(spell(words.renew(ids), ends, words.spelling))
            histogram.update(np.diff(ends, prepend=0).tolist())
            shown.update(len(ends))
    every = np.repeat(list(histogram.keys()), list(histogram.values()))
    real = np.diff(text.starts, append=len(text.ids))
    return {
        "running_words": words.running,
        "distinct_words": words.distinct,
        "growth": asdict(words.growth),
        "lengths": percentiles(every),
        "real": {"pairs": len(lines), "running_words": len(text.ids), "distinct_words": len(text.words)}
        | {"lengths": percentiles(real)},
    }


def percentiles(lengths: Ids) -> dict[str, float]:
    """Words in a line: the mean and some percentiles."""
    return {"mean": float(lengths.mean())} | {str(p): float(np.percentile(lengths, p)) for p in (5, 50, 95, 99)}


def draw_cuts(lengths_P: Ids, pairs: int) -> Iterator[tuple[Ids, Ids, NDArray[np.float64]]]:
    """Chunks of: the real pair (0 to P - 1) that gives the head, the one that gives the tail, and where both are cut.

    That is a share of their length (0 to 1).
    """
    random = np.random.default_rng([SEED, 0])
    order = np.argsort(lengths_P, kind="stable")
    for done in range(0, pairs, CHUNK):
        size = min(CHUNK, pairs - done)
        place = random.integers(len(order), size=size)
        other = (place + random.integers(-ALIKE, ALIKE + 1, size)).clip(0, len(order) - 1)
        yield order[place], order[other], random.uniform(0.2, 0.8, size)


class RealText:
    """Lines as ids of words: those of line i begin at starts[i]."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        split = [line.split() for line in lines]
        self.words, self.ids = np.unique(np.array(list(itertools.chain(*split))), return_inverse=True)
        self._lengths = np.array([len(words) for words in split])
        self.starts = np.cumsum(self._lengths) - self._lengths

    def join(self, heads_C: Ids, tails_C: Ids, cuts_C: NDArray[np.float64]) -> tuple[Ids, Ids]:
        """Head of one line and tail of another, C times; all their ids in one array, and where each line ends there."""
        kept = np.rint(cuts_C * self._lengths[heads_C]).astype(np.int64)
        left_out = np.rint(cuts_C * self._lengths[tails_C]).astype(np.int64)
        starts = np.stack([self.starts[heads_C], self.starts[tails_C] + left_out], axis=1).ravel()
        counts = np.stack([kept, self._lengths[tails_C] - left_out], axis=1).ravel()
        ends = counts.cumsum()
        return self.ids[np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1])], ends[1::2]


class GrowingWords:
    """Puts new words into a text so that their number grows as the law that fits the real text."""

    def __init__(self, text: RealText, random: np.random.Generator) -> None:
        self._random = random
        times = np.bincount(text.ids)
        self.spelling: list[str] = text.words.tolist()  # of each id; new words are appended
        self._once = times == 1
        self._before: Ids = np.flatnonzero(self._once)  # the words that stood at the places of rare ones
        self._places = len(self._before)
        self._seen = np.zeros(len(times), dtype=bool)
        self._new = new_words(self.spelling)
        self.running = self.distinct = 0
        lines = [text.ids[i:j] for i, j in itertools.pairwise([*text.starts, len(text.ids)])]
        random.shuffle(lines)  # the slices come one after the other, and each begins with words of its own
        self.growth = fit_growth(np.concatenate(lines))

    def wanted(self) -> int:
        """Distinct words in as many running ones as there were so far, by the law."""
        return round(self.growth.words(self.running))

    def renew(self, ids_N: Ids) -> Ids:
        """The next N words of the text, with others at the places of words that the real text has once."""
        ids = ids_N.copy()
        places = np.flatnonzero(self._once[ids])
        self.running += len(ids)
        self._see(np.delete(ids, places))
        missing = min(max(0, self.wanted() - self.distinct), len(places))
        chosen = self._before[self._random.integers(self._places, size=len(places))]
        chosen[self._random.choice(len(places), missing, replace=False)] = self._add(missing)
        self._see(chosen)
        self._keep(chosen)
        ids[places] = chosen
        return ids

    def _add(self, count: int) -> Ids:
        """The ids of so many new words."""
        first = len(self.spelling)
        self.spelling += itertools.islice(self._new, count)
        if len(self.spelling) < first + count:
            raise InputError("the slices have too few words to make new ones of for so many pairs: ask for fewer")
        return np.arange(first, first + count)

    def _see(self, ids: Ids) -> None:
        if len(self._seen) < len(self.spelling):
            self._seen = np.concatenate([self._seen, np.zeros(len(self.spelling), dtype=bool)])
        self._seen[ids] = True
        self.distinct = int(self._seen.sum())

    def _keep(self, ids: Ids) -> None:
        while self._places + len(ids) > len(self._before):
            self._before = np.concatenate([self._before, np.empty_like(self._before)])
        self._before[self._places : self._places + len(ids)] = ids
        self._places += len(ids)


def new_words(real: list[str]) -> Iterator[str]:
    """Words that are not among the real ones, none of them twice.

    Each is a beginning of several real words with an ending of several real words; they may run out.
    """
    long = [word for word in real if len(word) > BEGINNING]
    beginnings, endings = (
        sorted(part for part, times in Counter(parts).items() if times > 1)
        for parts in ((word[:BEGINNING] for word in long), (word[BEGINNING:] for word in long))
    )
    known, size = set(real), len(beginnings) * len(endings)
    # A step of this share of all combinations that has no divisor in common with their number comes by each once, and
    # leaves no part alone for long.
    step = next(step for step in range(int(size * 0.618), 0, -1) if gcd(step, size) == 1) if size else 0
    for number in range(size):
        place = number * step % size
        word = beginnings[place // len(endings)] + endings[place % len(endings)]
        if word not in known:
            yield word


def spell(ids: Ids, ends: Ids, words: list[str]) -> Iterator[str]:
    """The lines that the ids stand for."""
    spelled = map(words.__getitem__, ids.tolist())
    for length in np.diff(ends, prepend=0).tolist():
        yield " ".join(itertools.islice(spelled, length)) + "\n"


def table(texts: list[dict[str, Any]]) -> str:
    """What was wanted and what there is: a row for each language of each text, and one for the slices."""
    lines = [
        "| pairs | | million words | distinct, wanted | distinct, there | wanted a million | there a million "
        "| words a line: mean, percentiles 5 / 50 / 95 / 99 |",
        "|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for language in LANGUAGES:
        first = texts[0]["languages"][language]
        lines += [_row(first["real"]["pairs"], f"{language}, real", first["real"], first["growth"])]
    for facts in texts:
        for language, side in facts["languages"].items():
            lines += [_row(facts["pairs"], language, side, side["growth"])]
    return "\n".join(lines)


def _row(pairs: int, name: str, side: dict[str, Any], law: dict[str, float]) -> str:
    running, distinct = side["running_words"], side["distinct_words"]
    wanted, million = Growth(**law).words(running), running / 1e6
    lengths = " / ".join(f"{side['lengths'][key]:.0f}" for key in ("5", "50", "95", "99"))
    return (
        f"| {pairs:,} | {name} | {million:.1f} | {wanted:,.0f} | {distinct:,} | {wanted / million:,.0f} "
        f"| {distinct / million:,.0f} | {side['lengths']['mean']:.1f}, {lengths} |"
    )


if __name__ == "__main__":
    run_main(main)
