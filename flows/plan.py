"""What is to be run, read from DVC: dvc.yaml is the only place where stages, inputs and outputs are listed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import networkx
from dvc.exceptions import DvcException
from dvc.repo import Repo

from flows import lockfile
from flows.errors import BadInput
from flows.locks import FOLDER
from flows.waiting import Log, say, waiting

# An experiment is done when these are: score@EXPERIMENT, and those of the others that there are for it.
LISTED = 15  # experiments, in an error line


@dataclass(frozen=True)
class Plan:
    """Names of stages, each with those of the stages that it reads from; all in an order in which they can run."""

    needed: dict[str, list[str]]
    downstream: dict[str, list[str]]
    ends: dict[str, list[str]]
    """The last stages of the experiments, from which no other of `needed` reads, each with what it needs and itself."""
    in_slots: set[str]
    """Trainings, which dvc.yaml marks with `meta: {slot: true}`, and what reads from them."""
    tables: list[Path]
    """Markdown files that the downstream stages write."""


def read_plan(patterns: list[str], log: Log = say) -> Plan:
    """The stages of the experiments with all that they need, and those of no experiment that read from them.

    The stages of an experiment E are those that are called X@E and are a training or read from one.

    Args:
        patterns: names of experiments, or shell patterns of such names.
        log: is told if another process keeps it waiting.

    BadInput if there is no such experiment or DVC cannot read its files.
    """
    try:
        with _locked_repo(log) as repo:
            index = repo.index
            graph = index.graph  # edges lead from a stage to the stages it reads from
    except DvcException as error:
        raise BadInput(" ".join(str(error).split())) from None
    stages = {stage.addressing: stage for stage in index.stages}
    names = networkx.relabel_nodes(graph, {stage: name for name, stage in stages.items()})
    marked = [name for name, stage in stages.items() if (stage.meta or {}).get("slot")]
    in_slots = set(marked).union(*(networkx.ancestors(names, name) for name in marked))
    experiments: dict[str, list[str]] = {}
    for name in stages:
        if name in in_slots and "@" in name:
            experiments.setdefault(name.partition("@")[2], []).append(name)
    needs = {
        name: set(experiments[name]).union(*(networkx.descendants(names, one) for one in experiments[name]))
        for name in _matching(patterns, list(experiments))
    }
    needed = set().union(*needs.values())
    ends = [name for name in needed if not needed.intersection(names.predecessors(name))]
    readers = set().union(*(networkx.ancestors(names, one) for name in needs for one in experiments[name]))
    downstream = readers.difference(needed, *experiments.values())
    rank = {one: number for number, all_of_it in reversed(list(enumerate(needs.values()))) for one in all_of_it}
    order = list(networkx.lexicographical_topological_sort(names.reverse(), key=lambda one: (rank.get(one, -1), one)))
    return Plan(
        needed={name: sorted(names.successors(name)) for name in order if name in needed},
        downstream={name: sorted(names.successors(name)) for name in order if name in downstream},
        ends={name: [*sorted(networkx.descendants(names, name)), name] for name in order if name in ends},
        in_slots=needed & in_slots,
        tables=[
            Path(out.fs_path)
            for name in order
            if name in downstream
            for out in stages[name].outs
            if out.fs_path.endswith(".md")
        ],
    )


def out_of_date(stages: dict[str, list[str]], log: Log = say) -> set[str]:
    """Those that have changed and those that read from such a one: at these DVC has to look when their turn comes.

    To look at all stages here takes no longer than one `dvc repro` of a stage that is up to date.
    """
    changed: set[str] = set()
    with _locked_repo(log) as repo:
        known = {stage.addressing: stage for stage in repo.index.stages}
        for name, inputs in stages.items():
            try:
                if changed.intersection(inputs) or known[name].status():
                    changed.add(name)
            except DvcException:  # another process works on its files
                changed.add(name)
    return changed


@contextmanager
def _locked_repo(log: Log) -> Iterator[Any]:
    """This folder's repository under DVC's lock: another DVC may be half way through rewriting dvc.lock."""
    lockfile.bring_back(log)
    with Repo(_wait_for_lock=True) as repo, ExitStack() as stack:
        with waiting(log, f"waiting: another process has locked this folder for DVC ({FOLDER})"):
            stack.enter_context(repo.lock)
        yield repo


def _matching(patterns: list[str], known: list[str]) -> list[str]:
    """The experiments of these names and patterns, each once."""
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = [name for name in known if fnmatchcase(name, pattern)]
        if not matching:
            raise BadInput(f"params.yaml: {_nothing_found(pattern, known)}")
        found |= dict.fromkeys(matching)
    return list(found)


def _nothing_found(pattern: str, known: list[str]) -> str:
    is_pattern = any(sign in pattern for sign in "*?[")
    nearest = get_close_matches(pattern, known, n=3 if is_pattern else 1, cutoff=0.5)
    if nearest and not is_pattern:
        return f"no experiment {pattern!r}; did you mean {nearest[0]!r}?"
    known = sorted(known, key=lambda name: name.startswith("table3-"))  # whose many rows would hide the others
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    hint = f"nearest: {', '.join(nearest)}" if nearest else f"known: {', '.join(known[:LISTED])}{more}"
    return f"no experiment{' fits' if is_pattern else ''} {pattern!r}; {hint}"
