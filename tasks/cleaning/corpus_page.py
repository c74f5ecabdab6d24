"""The page about a corpus: sizes, what was dropped and changed and why, lengths, ten pairs, licences and sources.

data/corpora/C/README.md     quotes the corpus; git ignores the folder
data/corpora/C/lengths.png   the picture in it
"""

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib

from tasks.common.markdown import listed, literal, table

_SHOWN = 10  # pairs
_LISTED = 20  # notes, and sources: of some corpora they are thousands
_BARS = 40
_SHARES = (0.5, 0.9, 0.99)  # of lines that have at most so many words


def write_page(folder: Path, name: str, facts: dict[str, Any], lengths: list[Counter[int]]) -> None:
    """Write README.md and lengths.png of the corpus in `folder`.

    Args:
        folder: holds the files of text.
        name: of the corpus.
        facts: what corpus.json says.
        lengths: for each side, the number of train lines by their number of words.
    """
    codes = list(facts["languages"].values())
    _draw(lengths, codes, folder / "lengths.png")
    parts = [
        f"# {name}: {codes[0]} to {codes[1]}",
        _sizes(facts, codes),
        *_cleaning(name, facts),
        *_notes(facts.get("notes", [])),
        "## Lengths of train, in words between spaces",
        "![Lines by number of words](lengths.png)",
        _quantiles(lengths, codes),
        f"## {_SHOWN} pairs of train, drawn at random",
        _examples([folder / f"train.{code}" for code in codes], facts["pairs"]["train"]),
        "## Where the text comes from",
        facts["about"],
        _sources(facts["sources"][:_LISTED]),
        *_more(len(facts["sources"])),
    ]
    (folder / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _sizes(facts: dict[str, Any], codes: list[str]) -> str:
    header = [
        "split",
        "pairs",
        *(f"words {code}" for code in codes),
        *(f"characters {code}" for code in codes),
        "dropped",
    ]
    rows = []
    for split, pairs in facts["pairs"].items():
        title = f"test ({facts['test_set']})" if split == "test" else split
        sizes = [pairs, *facts["words"][split].values(), *facts["characters"][split].values()]
        dropped = "never" if split == "test" else listed(facts["dropped"][split])
        rows.append([title, *(f"{size:,}" for size in sizes), dropped])
    return table(header, rows)


def _cleaning(name: str, facts: dict[str, Any]) -> list[str]:
    """What was done, by which settings, and what a reader of the scores should know."""
    settings = ", ".join(f"{key}: {value}" for key, value in facts["cleaning"].items())
    before = facts["dropped"]["before splitting"]
    lines = [
        f"- Settings of `cleaning`: `{settings}`.",
        *([f"- Left out before splitting: {listed(before)}."] if before else []),
        *(f"- Pairs of {split} that were changed: {listed(facts['changed'][split])}." for split in ("train", "valid")),
        f"- Pairs of train with a side that is also a line of valid or test: {listed(facts['overlap'])}; "
        f"{'dropped' if 'overlap' in facts['cleaning']['drop'] else 'kept'}.",
        f"- Test pairs: {facts['test']['escaped']:,} escaped by Moses, {facts['test']['empty']:,} with an empty side.",
        f"- The stage `shards@{name}` leaves out pairs of train and valid that are too long or uneven in sub-words: "
        f"[manifest.json](../../shards/{name}/manifest.json) has its counts by reason, and so have the reports.",
    ]
    return ["## Cleaning", "\n".join(lines)]


def _notes(notes: list[str]) -> list[str]:
    """The first passages of which nothing was taken, with file and line."""
    if not notes:
        return []
    shown = "\n".join(f"- {literal(note)}" for note in notes[:_LISTED])
    return ["## Left out", "What could not be read:", shown, *_more(len(notes))]


def _more(count: int) -> list[str]:
    return [f"and {count - _LISTED:,} more in corpus.json."] if count > _LISTED else []


def _quantiles(lengths: list[Counter[int]], codes: list[str]) -> str:
    header = ["side", "mean", *(f"{share:.0%} have at most" for share in _SHARES), "longest"]
    rows = []
    for code, counts in zip(codes, lengths, strict=True):
        mean = sum(words * lines for words, lines in counts.items()) / counts.total()
        at_most = [str(_quantile(counts, share)) for share in _SHARES]
        rows.append([code, f"{mean:.1f}", *at_most, str(max(counts))])
    return table(header, rows)


def _quantile(counts: Counter[int], share: float) -> int:
    """The smallest number of words that at least this share of lines does not exceed."""
    lengths = sorted(counts)
    below = itertools.accumulate(counts[length] for length in lengths)
    return next(length for length, lines in zip(lengths, below, strict=True) if lines >= share * counts.total())


def _examples(paths: list[Path], pairs: int) -> str:
    chosen = set(random.Random(1).sample(range(1, pairs + 1), min(_SHOWN, pairs)))
    with (
        paths[0].open(encoding="utf-8", newline="\n") as source,
        paths[1].open(encoding="utf-8", newline="\n") as target,
    ):
        numbered = enumerate(zip(source, target, strict=True), start=1)
        shown = [(number, *pair) for number, pair in numbered if number in chosen]
    return "\n".join(f"- line {number}\n  - {literal(left)}\n  - {literal(right)}" for number, left, right in shown)


def _sources(sources: list[dict[str, str]]) -> str:
    """A table with a column for whatever is known of any source."""
    keys = list(dict.fromkeys(key for source in sources for key in source))
    rows = [
        [f"`{source[key]}`" if key == "sha256" and key in source else source.get(key, "") for key in keys]
        for source in sources
    ]
    return table(keys, rows)


def _draw(lengths: list[Counter[int]], codes: list[str], path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    longest = max(_quantile(counts, 0.995) for counts in lengths)
    width = max(1, -(-longest // _BARS))
    edges = range(1, longest + width + 1, width)
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    for code, counts in zip(codes, lengths, strict=True):
        heights = [sum(counts[words] for words in range(edge, edge + width)) for edge in edges[:-1]]
        axes.stairs([height / counts.total() * 100 for height in heights], edges, label=code, fill=True, alpha=0.4)
    axes.set(xlabel="words of a line" + (f", {width} to a bar" if width > 1 else ""), ylabel="% of lines")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)
