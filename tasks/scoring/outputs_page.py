"""The page that shows what a model writes: usual faults, best, typical and worst sentences, BLEU by length.

reports/outputs/E.md     quotes the corpus, so git ignores it; lines are numbered as in data/corpora/C/test.*
reports/outputs/E.png    the picture in it
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import matplotlib

from tasks.common.lines import read_lines
from tasks.common.markdown import literal, table
from tasks.scoring import length_buckets
from tasks.scoring.bleu import bleu_metric
from transformer.io.files import whole_file
from transformer.text.sentences import without_spaces

SHOWN = 10  # best, typical and worst sentences
SHOWN_OF_FAULT = 3
LONGEST_PHRASE = 8  # words, of those that are looked for twice in a row


@dataclass(frozen=True)
class Output:
    """One line of a test split with its translation; `bleu` is of this sentence alone."""

    line: int
    source: str
    reference: str
    hypothesis: str
    bleu: float
    cut: bool


def write_page(
    page: Path, title: str, texts: Iterable[tuple[str, str, str]], lowercase: bool, cut: Path, language: str
) -> list[Path]:
    """Write PAGE.md and its picture PAGE.png; returns both paths.

    Args:
        page: the path that ends with .md.
        title: the experiment and the test set.
        texts: source, reference and hypothesis of each line.
        lowercase: BLEU ignores case, as for a model that writes none.
        cut: file with the numbers of the lines that the search's length limit cut; outputs may be without it.
        language: code of the target side, for BLEU's tokeniser.
    """
    texts = list(texts)
    sources, references = ([text[side] for text in texts] for side in (0, 1))
    metric = bleu_metric(language, references, lowercase=lowercase, effective_order=True)
    outputs = read_outputs(metric, texts, set(map(int, read_lines(cut))) if cut.exists() else set())
    picture = page.with_suffix(".png")
    bars = [] if without_spaces(sources) else by_length(metric, outputs)
    left_out = [] if cut.exists() else [is_cut]
    left_out += OF_WORDS if without_spaces(references) else []
    faults = {name: fault for name, fault in FAULTS.items() if fault not in left_out}
    parts = [
        f"# What {title} looks like",
        _summary(metric, outputs),
        "## BLEU by length of the source",
        f"![BLEU by length of the source]({picture.name})",
        table(["words", "lines", "BLEU"], [[name, str(count), f"{bleu:.2f}"] for name, count, bleu in bars])
        if bars
        else f"{NO_LENGTHS}.",
        "## Faults to look for",
        "Each rule is simple, and finds some lines that are right; the worst of each are shown.",
        *([NO_WORDS] if without_spaces(references) else []),
        *_faults(outputs, faults),
        *_ranking(outputs),
    ]
    with whole_file(picture) as temporary:
        _draw(bars, title, temporary)
    with whole_file(page) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [page, picture]


def read_outputs(metric: Any, texts: Iterable[tuple[str, str, str]], cut: set[int]) -> list[Output]:
    """Each line with the BLEU of its sentence: sacreBLEU's `sentence_bleu`, which leaves out orders with no n-gram."""
    return [
        Output(line, source, reference, hypothesis, metric.sentence_score(hypothesis, [reference]).score, line in cut)
        for line, (source, reference, hypothesis) in enumerate(texts, start=1)
    ]


def by_length(metric: Any, outputs: list[Output]) -> list[tuple[str, int, float]]:
    """Name, lines and corpus BLEU for each range of source lengths, in words between spaces, that has lines."""
    return [
        (
            name,
            len(some),
            metric.corpus_score([one.hypothesis for one in some], [[one.reference for one in some]]).score,
        )
        for name, some in length_buckets.by_length(outputs, _length)
    ]


def is_empty(output: Output) -> bool:
    """Nothing was written, although there was something to translate."""
    return not output.hypothesis.strip() and bool(output.source.strip())


def is_cut(output: Output) -> bool:
    """The search stopped it at the length limit."""
    return output.cut


def copies_source(output: Output) -> bool:
    """At least half of its words are words of the source which the reference has not."""
    words = _words(output.hypothesis)
    copied = Counter(words) & (Counter(_words(output.source)) - Counter(_words(output.reference)))
    return bool(words) and 2 * copied.total() >= len(words)


def repeats_itself(output: Output) -> bool:
    """A phrase of four letters or more stands twice in a row, which it does not in source and reference.

    (Shorter ones do in good German: a relative pronoun before an article.)
    """
    return _doubled(output.hypothesis) and not _doubled(output.source) and not _doubled(output.reference)


def loses_numbers(output: Output) -> bool:
    """A number of the source, which the reference keeps, is missing."""
    return bool((_numbers(output.source) & _numbers(output.reference)) - _numbers(output.hypothesis))


FAULTS: dict[str, Callable[[Output], bool]] = {
    "Empty": is_empty,
    "Cut at the length limit": is_cut,
    "Copies the source": copies_source,
    "Repeats itself": repeats_itself,
    "Loses numbers": loses_numbers,
}


OF_WORDS = [copies_source, repeats_itself]
NO_WORDS = (
    "Those of copies and repetitions are not applicable: the references are written without spaces between words."
)
NO_LENGTHS = "Not applicable: the sources are written without spaces between words"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _length(output: Output) -> int:
    return len(output.source.split())


def _doubled(text: str) -> bool:
    words = _words(text)
    return any(
        words[start : start + length] == words[start + length : start + 2 * length]
        and sum(map(len, words[start : start + length])) >= 4
        for length in range(1, LONGEST_PHRASE + 1)
        for start in range(len(words) - 2 * length + 1)
    )


def _numbers(text: str) -> Counter[str]:
    """Numbers without what groups their digits, which languages write in different ways: 1,000.5 and 1.000,5."""
    return Counter(re.sub(r"\D", "", number) for number in re.findall(r"\d+(?:[.,'\u00a0\u202f]\d+)*", text))


def _summary(metric: Any, outputs: list[Output]) -> str:
    scores = [output.bleu for output in outputs]
    same = sum(output.hypothesis == output.reference for output in outputs)
    return (
        f"{len(outputs):,} lines of the test split; {same:,} outputs equal their reference. BLEU of single sentences: "
        f"mean {mean(scores):.1f}, median {median(scores):.1f}. It says which sentences to look at, and is no score to "
        f"compare models by: for one reference among many good translations it is low. `{metric.get_signature()}`"
    )


def _faults(outputs: list[Output], faults: dict[str, Callable[[Output], bool]]) -> list[str]:
    """A table of counts, then some lines of each fault."""
    found = {name: [output for output in outputs if fault(output)] for name, fault in faults.items()}
    rows = [
        [name, str(len(some)), f"{len(some) / len(outputs):.1%}", (faults[name].__doc__ or "").partition("\n")[0]]
        for name, some in found.items()
    ]
    shown = [f"### {name}\n\n{_list(_worst(some)[:SHOWN_OF_FAULT])}" for name, some in found.items() if some]
    return [table(["fault", "lines", "share", "what counts"], rows), *shown]


def _ranking(outputs: list[Output]) -> list[str]:
    """Of equal scores the longer sentence says more, and comes first."""
    middle = median(output.bleu for output in outputs)
    best = sorted(outputs, key=lambda output: (-output.bleu, -_length(output)))
    typical = sorted(outputs, key=lambda output: (abs(output.bleu - middle), -_length(output)))
    return [
        f"## Worst\n\n{_list(_worst(outputs)[:SHOWN])}",
        f"## Typical: nearest to the median\n\n{_list(typical[:SHOWN])}",
        f"## Best\n\n{_list(best[:SHOWN])}",
    ]


def _worst(outputs: list[Output]) -> list[Output]:
    return sorted(outputs, key=lambda output: (output.bleu, -_length(output)))


def _list(outputs: list[Output]) -> str:
    return "\n".join(
        f"- line {output.line}, BLEU {output.bleu:.1f}\n"
        f"  - source: {literal(output.source)}\n"
        f"  - reference: {literal(output.reference)}\n"
        f"  - output: {literal(output.hypothesis)}"
        for output in outputs
    )


def _draw(bars: list[tuple[str, int, float]], title: str, path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    if not bars:
        axes.text(0.5, 0.5, NO_LENGTHS, ha="center", va="center", transform=axes.transAxes)
    shown = axes.bar([f"{name}\n({count:,} lines)" for name, count, _ in bars], [bleu for *_, bleu in bars])
    axes.bar_label(shown, fmt="%.1f")
    axes.set(xlabel="words of the source", ylabel="BLEU", title=title)
    axes.tick_params(axis="x", labelsize=8)
    axes.margins(y=0.12)
    figure.tight_layout()
    figure.savefig(path, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)
