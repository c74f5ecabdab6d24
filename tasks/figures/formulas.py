"""Two formulas of the paper as the code computes them: positional encodings and learning rates."""

from pathlib import Path

from tasks.common.settings import Params
from tasks.figures.plots import plot, styles
from transformer.model import concatenated_sinusoids, sinusoids
from transformer.schedule import learning_rate

POSITIONS = 100
UPDATES = 20_000


def draw_positions(params: Params, path: Path) -> None:
    """Positional encodings (section 3.5) as a heat map: positions down, dimensions across; black -1, white 1."""
    name = shown(params)[0]
    model = params.experiments[name].model
    # What is learned begins at random: nothing of it is known here but its size.
    table = concatenated_sinusoids if model.positions == "concatenated" else sinusoids
    with plot(path) as (axes,):
        image = axes.imshow(table(POSITIONS, model.d_model).numpy(), cmap="gray", vmin=-1, vmax=1, aspect="auto")
        axes.set(xlabel=f"dimension ({name}: d_model = {model.d_model})", ylabel="position")
        axes.figure.colorbar(image, label="value")


def draw_learning_rates(params: Params, path: Path) -> None:
    """Learning rates (equation 3) by update, as set in params.yaml, and each with twice the warm-up."""
    updates = range(1, UPDATES + 1, 10)
    with plot(path) as (axes,):
        style = styles()
        for name in shown(params):
            model, training = params.experiments[name].model, params.experiments[name].training
            for times, told in ((1, ""), (2, ", twice the warm-up")):
                warmup, factor = times * training.warmup, training.learning_rate_factor
                rates = [learning_rate(update, model.d_model, warmup, factor) for update in updates]
                line = {**next(style), "marker": None}
                axes.plot(updates, rates, **line, label=f"{name}{told}: d_model {model.d_model}, warm-up {warmup:,}")
        axes.set(xlabel="updates", ylabel="learning rate")
        axes.grid(alpha=0.3)
        axes.set_ylim(top=1.6 * axes.get_ylim()[1])  # room for the legend above the peaks
        axes.legend(loc="upper right")


def shown(params: Params) -> list[str]:
    """The paper's two models, or in a project without them the first experiment."""
    return [name for name in ("base", "big") if name in params.experiments] or list(params.experiments)[:1]
