"""A small treebank on the whole road: DVC runs all stages, the table shows F1, the command parses."""

import json
import random
from pathlib import Path

import pytest

from tests.workspace import COLOURS, NOUNS, PRESETS, VERBS, corpus_settings, experiment_settings, make_workspace, run
from transformer.text.trees import read_brackets

TREES = {"train": 500, "valid": 30, "test": 30}


def sentence(draw: random.Random) -> str:
    """A tree of a made-up language, as a treebank has it: with functions, indices and traces."""

    def noun_phrase(function: str = "") -> str:
        colour = f"(JJ {draw.choice(list(COLOURS))}) " if draw.random() < 0.5 else ""
        phrase = f"(DT the) {colour}(NN {draw.choice(list(NOUNS))})"
        if draw.random() < 0.3:
            return f"(NP{function} (NP {phrase}) (PP-LOC (IN near) (NP (DT the) (NN {draw.choice(list(NOUNS))}))))"
        return f"(NP{function} {phrase})"

    verb = f"(VBZ {draw.choice(list(VERBS))})"
    return f"( (S {noun_phrase('-SBJ-1')}\n    (VP {verb} {noun_phrase()} (-NONE- *T*-1))\n    (. .)) )"


def treebank_settings(folder: Path) -> dict[str, object]:
    return corpus_settings(folder) | {
        "languages": {"source": "en", "target": "tree"},
        "test_set": "made-up trees",
        "origin": {
            "kind": "trees", "folder": str(folder), "terms": "our own", "parsed": [], "gold_times": 1,
            **{split: [f"{split}.mrg"] for split in TREES},
        },
        "cleaning": {"max_characters": 2000, "max_words": None, "max_ratio": None, "drop": []},
        "text": {"lowercase": False, "tokenise": "none", "trees": "tensor2tensor"},
        "shards": {"max_length": 64, "max_ratio": 12.0, "buckets": [16, 32, 64], "rows_per_shard": 1000},
    }  # fmt: skip


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a parser, and two experiments that nobody ran."""
    folder = tmp_path_factory.mktemp("trees")
    (folder / "bank").mkdir()
    draw = random.Random(1)
    for split, count in TREES.items():
        broken = "(S (NP (DT the)\n" if split == "train" else ""
        (folder / f"bank/{split}.mrg").write_text(broken + "\n".join(sentence(draw) for _ in range(count)) + "\n")
    search = {"beam": 4, "penalty": "paper", "length_penalty": 0.3, "extra_length": 30}
    experiment = experiment_settings("bank", updates=320) | {"preset": "trees"}
    params = {
        "corpora": {"bank": treebank_settings(folder / "bank"), "text": corpus_settings(folder / "text")},
        "presets": {**PRESETS, "trees": {**PRESETS["test"], "search": search}},
        "max_restarts": 1,
        "experiments": {"parser": experiment, "unrun": experiment, "translator": experiment_settings("text")},
    }
    project = make_workspace(folder / "project", params)
    for command in ("python -m tasks.check parser", "dvc repro score@parser", "dvc repro --single-item report"):
        done = run(*command.split(), cwd=project)
        assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.mark.slow
def test_the_table_shows_what_the_parser_is_worth_and_nothing_of_what_did_not_run(parsed: Path) -> None:
    table = (parsed / "reports/table4.md").read_text()
    assert "| Transformer (4 layers) | WSJ only, discriminative | 91.3 |" in table
    rows = [line for line in table.splitlines() if line.startswith("| parser | made-up trees |")]
    assert ["any output, repaired" in rows[0], "only well-formed outputs" in rows[1], len(rows)] == [True, True, 2]
    assert "| unrun | made-up trees | not run |" in table
    assert "translator" not in table
    assert "parser" not in (parsed / "reports/table2.md").read_text()


@pytest.mark.slow
@pytest.mark.fault("F31")
def test_the_parser_has_learned_the_grammar_and_keeps_all_words(parsed: Path) -> None:
    scores = json.loads((parsed / "reports/scores/parser.json").read_text())
    assert scores["scores"]["test"]["f1"] > 50
    assert scores["scores"]["test.well_formed"]["f1"] > 50
    assert scores["splits"]["test.well_formed"]["repaired"] == 0
    words = [line.split(" ") for line in (parsed / "data/corpora/bank/test.en").read_text().splitlines()]
    for name in ("test.tree", "test.well_formed.tree"):
        lines = (parsed / "outputs/parser" / name).read_text().splitlines()
        assert [read_brackets(line).words for line in lines] == words
    assert (parsed / "reports/outputs/parser.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.fault("F31")
def test_broken_trees_are_reported_by_file_and_line(parsed: Path) -> None:
    corpus = json.loads((parsed / "data/corpora/bank/corpus.json").read_text())
    assert corpus["pairs"] == TREES
    assert corpus["dropped"]["before splitting"] == {"no tree": 1}
    assert corpus["notes"][0].startswith("bank/train.mrg, line 1: ")
    text = "".join((parsed / f"data/corpora/bank/train.{side}").read_text() for side in ("en", "tree"))
    assert not [trace for trace in ("-NONE-", "*T*", "-SBJ", "-LOC") if trace in text]
