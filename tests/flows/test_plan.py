import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.errors import BadInput
from flows.plan import _matching, out_of_date, read_plan

CHECKOUT = Path(__file__).parents[2]


def test_needs_of_one_experiment_and_nothing_else(workspace: Path) -> None:
    plan = read_plan(["tiny"])
    assert plan.needed == {
        "corpus@one": [],
        "shards@one": ["corpus@one"],
        "train@tiny": ["shards@one"],
        "score@tiny": ["train@tiny"],
        "sweep@tiny": ["train@tiny"],
    }
    assert list(plan.needed) == ["corpus@one", "shards@one", "train@tiny", "score@tiny", "sweep@tiny"]
    assert plan.in_slots == {"train@tiny", "score@tiny", "sweep@tiny"}
    assert list(plan.downstream) == ["report"]
    assert [path.name for path in plan.tables] == ["table.md"]


def test_experiments_that_share_a_training_are_told_apart(workspace: Path) -> None:
    """`other` also reads what `tiny` trained."""
    stages = Path("dvc.yaml").read_text()
    sweep = stages.index("  sweep:")
    Path("dvc.yaml").write_text(stages[:sweep] + stages[sweep:].replace("models/${key}", "models/tiny"))
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("sweeps: {tiny: {}}", "sweeps: {other: {}}"))
    plan = read_plan(["tiny"])
    assert (list(plan.needed)[-1], list(plan.downstream)) == ("score@tiny", ["report"])
    plan = read_plan(["other"])
    assert set(plan.needed) >= {"sweep@other", "score@other", "train@tiny"}
    assert "score@tiny" not in plan.needed | plan.downstream


def test_two_experiments_share_one_plan(workspace: Path) -> None:
    plan = read_plan(["tiny", "other", "tiny"])
    assert len(plan.needed) == 9
    assert plan.ends == {
        "score@tiny": ["corpus@one", "shards@one", "train@tiny", "score@tiny"],
        "sweep@tiny": ["corpus@one", "shards@one", "train@tiny", "sweep@tiny"],
        "score@other": ["corpus@two", "shards@two", "train@other", "score@other"],
    }


def test_experiments_come_in_the_order_in_which_they_are_named(workspace: Path) -> None:
    def trainings(*experiments: str) -> list[str]:
        return [name for name in read_plan(list(experiments)).needed if name.startswith("train")]

    assert trainings("tiny", "other") == ["train@tiny", "train@other"]
    assert trainings("other", "tiny") == ["train@other", "train@tiny"]
    assert trainings("*") == ["train@tiny", "train@other"]  # as in params.yaml


def test_a_pattern_names_all_experiments_that_it_fits(workspace: Path) -> None:
    assert list(read_plan(["t[hi]*y", "tiny"]).ends) == ["score@tiny", "sweep@tiny"]
    assert list(read_plan(["t*", "o*"]).ends) == ["score@tiny", "sweep@tiny", "score@other"]
    with pytest.raises(BadInput, match=r"^params\.yaml: no experiment fits 'big\*'; known: tiny, other$"):
        read_plan(["tiny", "big*"])


def test_what_changed_and_what_reads_from_it_is_out_of_date(workspace: Path) -> None:
    needed = read_plan(["tiny", "other"]).needed
    assert out_of_date(needed) == set(needed)
    subprocess.run([sys.executable, "-m", "dvc", "repro", "-q", "score@tiny", "sweep@tiny"], check=True)
    of_other = set(read_plan(["other"]).needed)
    assert out_of_date(needed) == of_other
    Path("models/tiny").write_text("changed by hand")
    assert out_of_date(needed) == of_other | {"train@tiny", "score@tiny", "sweep@tiny"}
    Path("models/tiny").unlink()  # DVC has a copy, which only it can bring back
    assert out_of_date(needed) == of_other | {"train@tiny", "score@tiny", "sweep@tiny"}


def test_what_another_process_works_on_may_be_out_of_date(workspace: Path) -> None:
    subprocess.run([sys.executable, "-m", "dvc", "repro", "-q", "shards@one"], check=True)
    shards = {name: inputs for name, inputs in read_plan(["tiny"]).needed.items() if name == "shards@one"}
    assert out_of_date(shards) == set()
    holder = {"pid": os.getppid(), "cmd": "dvc repro"}
    Path(".dvc/tmp/rwlock").write_text(json.dumps({"write": {str(workspace / "data/corpus/one"): holder}}))
    assert out_of_date(shards) == {"shards@one"}


def test_a_stage_added_to_dvc_yaml_is_in_the_plan(workspace: Path) -> None:
    text = Path("dvc.yaml").read_text().replace('deps: ["data/corpus/${key}"]', 'deps: ["data/corpus/${key}", extra]')
    Path("dvc.yaml").write_text(text + "  extra:\n    cmd: echo > extra\n    outs: [extra]\n")
    assert read_plan(["tiny"]).needed["shards@one"] == ["corpus@one", "extra"]


def test_an_unknown_experiment_names_the_nearest(workspace: Path) -> None:
    with pytest.raises(BadInput, match="no experiment 'tny'; did you mean 'tiny'"):
        read_plan(["tny"])


def test_a_pattern_that_fits_nothing_names_the_nearest_and_no_long_list() -> None:
    known = ["table3-A1", "table3-E1", *(f"e{number}" for number in range(90))]
    with pytest.raises(BadInput, match=r"no experiment fits 'table9-\*'; nearest: table3-E1, table3-A1$"):
        _matching(["table9-*"], known)
    with pytest.raises(BadInput, match=r"no experiment 'news'; known: e0, .*, e14 and 77 more$"):
        _matching(["news"], known)


def test_a_broken_dvc_yaml_is_one_line(workspace: Path) -> None:
    Path("dvc.yaml").write_text("stages: [\n")
    with pytest.raises(BadInput, match=r"dvc\.yaml") as caught:
        read_plan(["tiny"])
    assert "\n" not in str(caught.value)


@pytest.mark.fault("F37")
def test_every_stage_of_the_project_can_be_given_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    with Repo() as repo:
        names = [stage.addressing for stage in repo.index.graph]
        assert len(names) > 20
        assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(@[A-Za-z0-9_-]+)?", name)] == []
        longest = {name.partition("@")[0]: name for name in sorted(names, key=len)}  # one of each: it takes long
        for name in longest.values():
            assert [stage.addressing for stage in repo.stage.collect(name)] == [name]
