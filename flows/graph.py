"""What is to be run, read from DVC: dvc.yaml is the only place where stages, inputs and outputs are listed."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import networkx
from dvc.exceptions import DvcException
from dvc.repo import Repo

from flows.errors import BadInput

LAST_STAGE = "score"  # an experiment is done when score@EXPERIMENT is


@dataclass(frozen=True)
class Plan:
    """Names of stages, each with those of the stages that it reads from; both in an order in which they can run."""

    needed: dict[str, list[str]]
    downstream: dict[str, list[str]]
    targets: list[str]
    tables: list[Path]
    """Markdown files that the downstream stages write."""


def read_plan(experiments: list[str]) -> Plan:
    """The stages that the experiments' scores need and those that read the scores.

    BadInput if there is no such experiment or DVC cannot read its files.
    """
    try:
        # Under DVC's lock: another DVC may be half way through rewriting dvc.lock.
        with Repo(_wait_for_lock=True) as repo, repo.lock:
            graph = repo.index.graph  # edges lead from a stage to the stages it reads from
    except DvcException as error:
        raise BadInput(" ".join(str(error).split())) from None
    stages = {stage.addressing: stage for stage in graph}
    targets = [f"{LAST_STAGE}@{_known(name, stages)}" for name in dict.fromkeys(experiments)]
    names = networkx.relabel_nodes(graph, {stage: name for name, stage in stages.items()})
    needed = set(targets).union(*(networkx.descendants(names, target) for target in targets))
    downstream = set().union(*(networkx.ancestors(names, target) for target in targets)) - needed
    order = list(networkx.lexicographical_topological_sort(names.reverse()))
    return Plan(
        needed={name: sorted(names.successors(name)) for name in order if name in needed},
        downstream={name: sorted(names.successors(name)) for name in order if name in downstream},
        targets=targets,
        tables=[
            Path(out.fs_path)
            for name in order
            if name in downstream
            for out in stages[name].outs
            if out.fs_path.endswith(".md")
        ],
    )


def _known(experiment: str, stages: dict[str, object]) -> str:
    experiments = sorted(name.partition("@")[2] for name in stages if name.startswith(f"{LAST_STAGE}@"))
    if experiment in experiments:
        return experiment
    nearest = get_close_matches(experiment, experiments, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(experiments)}"
    raise BadInput(f"params.yaml: no experiment {experiment!r}; {hint}")
