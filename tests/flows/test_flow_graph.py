import re
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.errors import BadInput
from flows.graph import read_plan

CHECKOUT = Path(__file__).parents[2]


def test_needs_of_one_experiment_and_nothing_else(workspace: Path) -> None:
    plan = read_plan(["tiny"])
    assert plan.needed == {"corpus@one": [], "shards@one": ["corpus@one"], "score@tiny": ["shards@one"]}
    assert list(plan.needed) == ["corpus@one", "shards@one", "score@tiny"]
    assert list(plan.downstream) == ["report"]
    assert [path.name for path in plan.tables] == ["table.md"]


def test_two_experiments_share_one_plan(workspace: Path) -> None:
    plan = read_plan(["tiny", "other", "tiny"])
    assert len(plan.needed) == 6
    assert plan.targets == ["score@tiny", "score@other"]


def test_a_stage_added_to_dvc_yaml_is_in_the_plan(workspace: Path) -> None:
    text = Path("dvc.yaml").read_text().replace('deps: ["data/corpus/${key}"]', 'deps: ["data/corpus/${key}", extra]')
    Path("dvc.yaml").write_text(text + "  extra:\n    cmd: echo > extra\n    outs: [extra]\n")
    assert read_plan(["tiny"]).needed["shards@one"] == ["corpus@one", "extra"]


def test_an_unknown_experiment_names_the_nearest(workspace: Path) -> None:
    with pytest.raises(BadInput, match="no experiment 'tny'; did you mean 'tiny'"):
        read_plan(["tny"])


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
        for name in names:
            assert re.fullmatch(r"[a-z]+(@[A-Za-z0-9_-]+)?", name)
            assert [stage.addressing for stage in repo.stage.collect(name)] == [name]
