"""Learning curves: perplexity by update, of all experiments in one plot."""

from pathlib import Path
from typing import Any

from tasks.figures.plots import NOTHING, plot, styles
from tasks.results.stored import Results


def draw_curves(results: Results, path: Path) -> None:
    """Perplexity on the valid split, and of the training, by update; one line for each experiment.

    The many rows of Table 3 that are variants are thin grey lines, of the valid split only, with one name.
    """
    scores = results.scores
    variants = [name for name in scores if name in results.params.variations]
    with plot(path) as (axes,):
        for name in variants:
            label = f"{len(variants)} rows of Table 3, valid" if name == variants[0] else None
            axes.plot(*_line(scores[name], "valid"), color="0.6", linewidth=0.6, label=label)
        others = {name: score for name, score in scores.items() if name not in variants}
        for style, (name, score) in zip(styles(), others.items(), strict=False):
            axes.plot(*_line(score, "training"), color=style["color"], alpha=0.3, linewidth=1)
            axes.plot(*_line(score, "valid"), **style, label=f"{name}, valid (faint: training)")
        axes.set(xlabel="updates", ylabel="perplexity per sub-word", yscale="log")
        axes.grid(alpha=0.3, which="both")
        if scores:
            axes.legend()
        else:
            axes.text(0.5, 0.5, NOTHING, ha="center", transform=axes.transAxes)


def _line(score: dict[str, Any], name: str) -> tuple[list[int], list[float]]:
    curve = score["training"]["curve"][name]
    return curve["update"], curve["perplexity"]
