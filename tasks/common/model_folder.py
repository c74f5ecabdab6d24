"""What a model folder takes from its training: which snapshots, and all of a translator but its weights."""

from pathlib import Path
from typing import Any

from tasks.common.paths import SUBWORDS
from transformer.io.checkpoint_files import snapshots
from transformer.io.errors import InputError
from transformer.io.files import read_json
from transformer.settings import ModelSettings, TextSettings
from transformer.text.subwords import Subwords
from transformer.translator import Config


def last(weights: Path, count: int) -> list[Path]:
    """The snapshots of the `count` highest update numbers; InputError if there are fewer."""
    paths = snapshots(weights)[-count:]
    if len(paths) < count:
        raise InputError(f"{weights}: has {len(paths)} snapshots, averaging.last is {count}")
    return paths


def describe_model(settings: Any, training: dict[str, Any]) -> tuple[Config, Subwords]:
    """All of a translator but its weights; InputError if the sub-words are not the training's."""
    folder = SUBWORDS / settings.corpus
    subwords = Subwords(folder / "subwords.model")
    if subwords.sha256 != training["hashes"]["subwords"]:
        name = training["experiment"]
        raise InputError(f"{subwords.path}: {name} was trained with another one; run the stage train@{name} again")
    languages = training["languages"]
    return Config(
        source_language=languages["source"],
        target_language=languages["target"],
        text=TextSettings(**read_json(folder / "subwords.json")["text"]),
        subwords_sha256=subwords.sha256,
        model=ModelSettings(**training["model"]),
        search=settings.search,
        longest_source=training.get("longest_source"),
    ), subwords
