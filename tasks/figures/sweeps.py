"""BLEU on the valid split over the averaging window, and over beam and length penalty, from reports/sweeps/."""

from pathlib import Path
from typing import Any

from tasks.figures.plots import plot, styles

Sweeps = dict[str, dict[str, Any]]


def draw_averaging(sweeps: Sweeps, path: Path) -> None:
    """BLEU (full line, left) and perplexity (broken line, right) by the number of averaged weights."""
    with plot(path, len(sweeps)) as panels:
        for axes, (name, sweep) in zip(panels, sweeps.items(), strict=True):
            points, metric = sweep["averaging"], metric_of(sweep)
            counts = [point["last"] for point in points]
            axes.plot(counts, [point[metric] for point in points], color="black", marker="o")
            axes.set(
                title=name, xlabel="weights averaged", ylabel=f"{LABELS[metric]}, valid (full line)", xticks=counts
            )
            axes.grid(alpha=0.3)
            right = axes.twinx()
            right.plot(counts, [point["perplexity"] for point in points], color="0.5", linestyle="--", marker="s")
            right.set_ylabel("perplexity, valid (broken line)")


def draw_search(sweeps: Sweeps, path: Path) -> None:
    """BLEU by the length penalty, one line for each beam; a ring is round the search of the experiment itself."""
    with plot(path, len(sweeps)) as panels:
        for axes, (name, sweep) in zip(panels, sweeps.items(), strict=True):
            metric, own = metric_of(sweep), sweep["own"]["search"]
            beams = dict.fromkeys(point["beam"] for point in sweep["search"])
            for style, beam in zip(styles(), beams, strict=False):
                points = [point for point in sweep["search"] if point["beam"] == beam]
                alphas, scores = zip(*((point["length_penalty"], point[metric]) for point in points), strict=True)
                axes.plot(alphas, scores, **style, label=f"beam {beam}")
                if beam == own["beam"] and own["length_penalty"] in alphas:
                    ring = (own["length_penalty"], scores[alphas.index(own["length_penalty"])])
                    axes.plot(*ring, "o", markersize=12, fillstyle="none", color="black", label="its own")
            kind = "(5 + |Y|) / 6" if own["penalty"] == "paper" else "|Y|"
            axes.set(title=name, xlabel=f"length penalty: exponent of {kind}", ylabel=f"{LABELS[metric]}, valid")
            axes.grid(alpha=0.3)
            axes.legend()


LABELS = {"bleu": "sacreBLEU", "bleu_lowercase_tokens": "BLEU of lower-cased tokens"}


def metric_of(sweep: dict[str, Any]) -> str:
    """The BLEU that suits the model: cased ones say little of outputs in lower case."""
    return "bleu_lowercase_tokens" if "bleu_lowercase_tokens" in sweep["averaging"][0] else "bleu"
