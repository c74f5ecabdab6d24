"""The points of reports/sweeps/ as tables, a part of the page of Table 2."""

from typing import Any

from tasks.common.document import Block, Table, fixed, from_runs
from tasks.figures.sweeps import LABELS, metric_of
from tasks.results.provenance import outdated, run_of
from tasks.results.stored import Results


def sweep_tables(results: Results) -> list[Block]:
    """For each sweep of the scored training: scores by averaging, by beam and length penalty, and the best of these."""
    parts: list[Block] = []
    for name, sweep in results.sweeps.items():
        if outdated("sweep", name, sweep, results.scores):
            continue
        parts += [f"**{name}**, {run_of(sweep['training'])}:", averaging(name, sweep), search(name, sweep), best(sweep)]
        parts.append(signature(sweep, results.scores.get(name)))
    return parts


def signature(sweep: dict[str, Any], score: dict[str, Any] | None) -> str:
    """How the sweep's BLEU was computed.

    Sweeps have not always stored it: then it is that of the experiment's `score`, if one point has the very number.
    """
    points, metric = [*sweep["averaging"], *sweep["search"]], metric_of(sweep)
    stored = [point["signatures"][metric] for point in points if "signatures" in point]
    own = score["scores"]["valid"].get(metric) if score else None
    if not stored and own and any(point[metric] == own["score"] for point in points):
        stored = [own["signature"]]
    told = " or ".join(f"`{one}`" for one in dict.fromkeys(stored)) or "how it was computed is not stored"
    return f"{LABELS[metric]} on the valid split: {told}."


def averaging(name: str, sweep: dict[str, Any]) -> Table:
    """A column for each number of averaged weights."""
    points, metric = sweep["averaging"], metric_of(sweep)
    return Table(
        ["weights averaged", *(str(point["last"]) for point in points)],
        [[LABELS[key], *from_runs([name], [fixed(point[key]) for point in points])] for key in (metric, "perplexity")],
    )


def search(name: str, sweep: dict[str, Any]) -> Table:
    """A row for each beam and a column for each length penalty."""
    metric = metric_of(sweep)
    found = {(point["beam"], point["length_penalty"]): fixed(point[metric]) for point in sweep["search"]}
    beams, exponents = (list(dict.fromkeys(each)) for each in zip(*found, strict=True))
    return Table(
        [f"{LABELS[metric]} by length penalty", *map(str, exponents)],
        [[f"beam {beam}", *from_runs([name], [found[beam, exponent] for exponent in exponents])] for beam in beams],
    )


def best(sweep: dict[str, Any]) -> str:
    """Where the grid's best score is, and whether a larger grid may have a better one."""
    metric = metric_of(sweep)
    point = max(sweep["search"], key=lambda point: point[metric])
    at_edge = [
        name
        for key, name in (("beam", "beam"), ("length_penalty", "length penalty"))
        if point[key] == max(each[key] for each in sweep["search"])
    ]
    beyond = f", the largest {' and '.join(at_edge)} tried, so a better one may lie beyond" if at_edge else ""
    own = sweep["own"]["search"]
    return (
        f"Best on the valid split: beam {point['beam']}, length penalty {point['length_penalty']}{beyond}. The scores "
        f"of Table 2 are by the experiment's own search: beam {own['beam']}, {own['length_penalty']}."
    )
