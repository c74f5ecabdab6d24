"""A copy of the project with a small made-up language, in which whole pipelines run in seconds."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
NOUNS = {"cat": "gato", "dog": "hund", "bird": "vogi", "fish": "fiso", "horse": "pferu", "mouse": "musu"}
VERBS = {"sees": "zet", "hears": "hort", "likes": "mogit", "follows": "folgit"}
COLOURS = {"red": "rota", "green": "gruna", "blue": "blawa", "old": "alta", "small": "klina"}
WORDS = {**NOUNS, **VERBS, **COLOURS, "the": "da"}


# The settings of a model that the tests leave as the paper has them.
PAPER: dict[str, Any] = {
    "attention_dropout": 0.0, "activation_dropout": 0.0, "normalisation": "post", "positions": "sinusoidal"
}  # fmt: skip


PRESETS: dict[str, Any] = {
    "test": {
        "model": {"layers": 1, "d_model": 32, "d_ff": 64, "heads": 2, "d_k": 16, "d_v": 16, "dropout": 0.0, **PAPER},
        "training": {
            "updates": 240, "tokens_per_update": 400, "tokens_per_device": 400, "warmup": 100,
            "learning_rate_factor": 1.0, "beta2": 0.98, "lengths_per_update": 1, "label_smoothing": 0.1,
            "precision": "fp32", "compile": False, "snapshot_every": 20, "keep_snapshots": 3, "validate_every": 80,
        },
        "averaging": {"last": 2},
        "search": {"beam": 4, "penalty": "paper", "length_penalty": 0.6, "extra_length": 20},
    }
}  # fmt: skip


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """English-like sentences and their translations: other words, colours behind their nouns, the verb last."""
    choose = random.Random(seed).choice
    pairs = []
    for _ in range(count):
        first, second = choose(list(NOUNS)), choose(list(NOUNS))
        colour, verb = choose(list(COLOURS)), choose(list(VERBS))
        source = ["the", colour, first, verb, "the", second]
        target = ["the", first, colour, "the", second, verb]
        pairs.append((" ".join(source), " ".join(WORDS[word] for word in target)))
    return pairs


def write_corpus(folder: Path, seed: int = 1) -> None:
    """train, valid and test of the made-up language as pairs of files."""
    folder.mkdir(parents=True)
    for split, count in (("train", 400), ("valid", 30), ("test", 30)):
        pairs = sentences(count, seed=seed * 10 + len(split))
        for column, language in enumerate(("en", "xx")):
            (folder / f"{split}.{language}").write_text("".join(pair[column] + "\n" for pair in pairs))


def corpus_settings(folder: Path) -> dict[str, Any]:
    """An entry of `corpora` for `write_corpus`."""
    return {
        "languages": {"source": "en", "target": "xx"},
        "test_set": "made-up",
        "origin": {
            "kind": "files",
            "folder": str(folder),
            **{split: [f"{split}.en", f"{split}.xx"] for split in ("train", "valid", "test")},
        },
        "cleaning": {"max_characters": 200, "max_words": None, "max_ratio": None, "drop": []},
        "text": {"lowercase": False, "tokenise": "none"},
        "subwords": {"kind": "bpe", "vocabulary": 90, "sample": 10_000, "seed": 1},
        "shards": {"max_length": 32, "max_ratio": 4.0, "buckets": [8, 16, 32], "rows_per_shard": 1000},
    }


def experiment_settings(corpus: str, updates: int = 240) -> dict[str, Any]:
    """An entry of `experiments` that learns the made-up language."""
    changes = {} if updates == PRESETS["test"]["training"]["updates"] else {"updates": updates}
    return {"corpus": corpus, "preset": "test", "changes": changes, "seed": 1}


def make_workspace(folder: Path, params: dict[str, Any]) -> Path:
    """A git and DVC workspace with the project's files and other params."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if not name.startswith(("tests/", "reports/")) and name != "dvc.lock" and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / "reports/scores").mkdir(parents=True)
    for name in ("comparisons", "failures", "layers", "sweeps", "attention"):
        (folder / "reports" / name).mkdir()
    (folder / "params.yaml").write_text(yaml.safe_dump({"sweeps": {}, "attention": {}, **params}))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "made for a test"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def environment(**extra: str) -> dict[str, str]:
    """Programs of this Python first, and no tracking server or Prefect server of the caller's."""
    kept = {key: value for key, value in os.environ.items() if key not in ("MLFLOW_TRACKING_URI", "PREFECT_API_URL")}
    return {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **extra}


def run(*command: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command there and return what it printed; the exit code is the caller's to judge."""
    return subprocess.run(command, cwd=cwd, env=environment(**extra), capture_output=True, text=True)
