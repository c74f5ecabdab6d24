"""BLEU on the valid split over the averaging window, and over beam and length penalty, from reports/sweeps/."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.figures.plots import plot, styles
from tasks.results.provenance import outdated, run_of
from tasks.results.stored import Results


def draw_averaging(results: Results, path: Path) -> None:
    """BLEU (full line, left) and perplexity (broken line, right) by the number of averaged weights."""
    for axes, sweep in _panels(results, path):
        points, metric = sweep["averaging"], metric_of(sweep)
        counts = [point["last"] for point in points]
        axes.plot(counts, [point[metric] for point in points], color="black", marker="o")
        axes.set(xlabel="weights averaged", ylabel=f"{LABELS[metric]}, valid (full line)", xticks=counts)
        axes.grid(alpha=0.3)
        right = axes.twinx()
        right.plot(counts, [point["perplexity"] for point in points], color="0.5", linestyle="--", marker="s")
        right.set_ylabel("perplexity, valid (broken line)")


def draw_search(results: Results, path: Path) -> None:
    """BLEU by the length penalty, one line for each beam; a ring is round the search of the experiment itself."""
    for axes, sweep in _panels(results, path):
        metric, own = metric_of(sweep), sweep["own"]["search"]
        beams = dict.fromkeys(point["beam"] for point in sweep["search"])
        for style, beam in zip(styles(), beams, strict=False):
            points = [point for point in sweep["search"] if point["beam"] == beam]
            alphas, scores = zip(*((point["length_penalty"], point[metric]) for point in points), strict=True)
            axes.plot(alphas, scores, **style, label=f"beam {beam}")
            if beam == own["beam"] and own["length_penalty"] in alphas:
                ring = (own["length_penalty"], scores[alphas.index(own["length_penalty"])])
                axes.plot(*ring, "o", markersize=12, fillstyle="none", color="black", label="as in the scores")
        kind = "(5 + |Y|) / 6" if own["penalty"] == "paper" else "|Y|"
        axes.set(xlabel=f"length penalty: exponent of {kind}", ylabel=f"{LABELS[metric]}, valid")
        axes.grid(alpha=0.3)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def _panels(results: Results, path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A panel for each sweep, to be drawn in; that of a sweep of another training than the scores' says so instead."""
    with plot(path, len(results.sweeps)) as panels:
        for axes, (name, sweep) in zip(panels, results.sweeps.items(), strict=True):
            if note := outdated("sweep", name, sweep, results.scores):
                axes.axis("off")
                axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes)
            else:
                axes.set_title(f"{name}\n{run_of(sweep['training'])}", fontsize="medium")
                yield axes, sweep


LABELS = {"bleu": "sacreBLEU", "bleu_lowercase_tokens": "BLEU of lower-cased tokens", "perplexity": "perplexity"}


def metric_of(sweep: dict[str, Any]) -> str:
    """The BLEU that suits the model: cased ones say little of outputs in lower case."""
    return "bleu_lowercase_tokens" if "bleu_lowercase_tokens" in sweep["averaging"][0] else "bleu"
