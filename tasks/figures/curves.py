"""Learning curves: perplexity by update. Part of the stage `report`."""

from pathlib import Path

import matplotlib

from tasks.results import Scores


def draw_curves(scores: Scores, path: Path) -> None:
    """Perplexity on the valid split, and of the training, by update; one line for each experiment."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for color, (name, score) in zip(pyplot.cm.tab10.colors * 10, scores.items(), strict=False):
        curve = score["training"]["curve"]
        axes.plot([p["update"] for p in curve], [p["perplexity"] for p in curve], color=color, alpha=0.3, linewidth=1)
        valid = [(point["update"], point["valid_perplexity"]) for point in curve if "valid_perplexity" in point]
        axes.plot(*zip(*valid, strict=True), color=color, marker=".", label=f"{name}, valid (faint: training)")
    axes.set(xlabel="updates", ylabel="perplexity per sub-word", yscale="log")
    axes.grid(alpha=0.3, which="both")
    if scores:
        axes.legend()
    else:
        axes.text(0.5, 0.5, "nothing measured yet", ha="center", transform=axes.transAxes)
    figure.tight_layout()
    figure.savefig(path, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)
