"""Average the last weights of a training into a model folder that translates on its own.

python -m tasks.average tiny

runs/E/weights/  data/subwords/C/subwords.model
  -> models/E/model.safetensors  config.json  subwords.model  training.json  README.md
"""

import shutil
from pathlib import Path
from typing import Any

from tasks.common.model_folder import describe_model, last
from tasks.common.paths import MODELS, RUNS
from tasks.common.settings import key_argument, read_experiment
from tasks.tracking.run import tracked
from transformer.checkpoints import average, write_tensors
from transformer.io.checkpoint_files import update_of
from transformer.io.errors import run_main
from transformer.io.files import read_json, whole_folder, write_json

SECTIONS = ("corpus", "averaging", "search")


def main() -> None:
    """Average one experiment."""
    experiment = key_argument("experiment")
    settings = read_experiment(experiment, *SECTIONS)
    weights = RUNS / experiment / "weights"
    training = read_json(weights / "training.json")
    with tracked(experiment, training["mlflow_run"]) as run:
        write_model(settings, weights, training, MODELS / experiment)
        run.parameters({"averaging": settings.averaging.model_dump()})


def write_model(settings: Any, weights: Path, training: dict[str, Any], folder: Path) -> None:
    """Write the model folder; InputError if snapshots are too few or damaged, or the sub-words another training's."""
    paths = last(weights, settings.averaging.last)
    config, subwords = describe_model(settings, training)
    averaged = [update_of(path) for path in paths]
    with whole_folder(folder) as temporary:
        write_tensors(temporary / "model.safetensors", average(paths))
        write_json(temporary / "config.json", config.model_dump())
        write_json(temporary / "training.json", {**training, "averaged_updates": averaged})
        shutil.copyfile(subwords.path, temporary / "subwords.model")
        (temporary / "README.md").write_text(model_card(training, averaged, settings), encoding="utf-8")


def model_card(training: dict[str, Any], averaged: list[int], settings: Any) -> str:
    """What a person who finds the folder wants to know."""
    name, languages = training["experiment"], training["languages"]
    shape = ", ".join(f"{key} {value}" for key, value in training["model"].items())
    return f"""# {name}: {languages["source"]} to {languages["target"]}

A Transformer as in "Attention Is All You Need" (arXiv 1706.03762), trained on the corpus `{training["corpus"]}`.

    echo "A sentence." | python -m transformer models/{name}{" --trees" if languages["target"] == "tree" else ""}

- **Shape**: {shape}; vocabulary {training["vocabulary"]}; {training["parameters"]:,} parameters
- **Preset**: {training["preset"]}{"".join(f"; {key} {value}" for key, value in training["changes"].items())}
- **Training**: {training["update"]:,} updates, {training["target_tokens"]:,} target tokens in
  {training["seconds"]:.0f} s on {training["made_by"][-1]["machine"]["device"]}
- **Perplexity** on the valid split: {training["curve"][-1]["valid_perplexity"]:.2f} after the last update
- **Weights**: mean of the updates {", ".join(map(str, averaged))}
- **Search**: beam {settings.search.beam}, length penalty {settings.search.length_penalty} ({settings.search.penalty})
- **From**: commit {training["made_by"][-1]["commit"]}, {training["date"]}, MLflow run {training["mlflow_run"]}

Its scores are in `scores.json` if it came as a release, else in `reports/scores/{name}.json`. It knows
the kind of text it was trained on and little else.
"""


if __name__ == "__main__":
    run_main(main)
