"""Where a measured number comes from: model, training, search, data, machine, commit and run, as the reports say it."""

from textwrap import shorten
from typing import Any

from tasks.common.document import Cell, lasting
from tasks.common.markdown import duration, listed, literal, settings, short_commit
from tasks.results.stored import Results, Scores

TRAINED = ["training time", "hardware", "date", "commit", "MLflow run"]  # what heads the cells of `trained`


def trained(training: dict[str, Any]) -> list[Cell | str]:
    """How long it took, where and when: cells of a table."""
    made_by = training["made_by"][-1]
    return [
        lasting(training["seconds"]),
        hardware(training),
        training["date"][:10],
        short_commit(made_by["commit"]),
        str(training["mlflow_run"] or "none")[:8],
    ]


def hardware(training: dict[str, Any]) -> str:
    """What it ran on last."""
    machine = training["made_by"][-1]["machine"]
    return f"{machine['devices']} x {machine['device']}"


def run_of(training: dict[str, Any]) -> str:
    """Run, commit and day of a training, in a line."""
    commit = short_commit(training["made_by"][-1]["commit"])
    return f"MLflow run {str(training['mlflow_run'] or 'none')[:8]}, commit {commit}, {training['date'][:10]}"


def preset_of(training: dict[str, Any]) -> str:
    """The preset whose settings a training had, and what it changed of them."""
    changes = training["changes"]
    return f"preset {training['preset']}" + (f", of which it changes: {settings(changes)}" if changes else "")


def preset_cell(preset: str, changes: dict[str, Any]) -> str:
    """The same for a table, without the values."""
    return f"{preset}, {len(changes)} changed" if changes else preset


def outdated(stage: str, experiment: str, stored: dict[str, Any], scores: Scores) -> str:
    """What to say in place of something that was measured of another training than the scores; nothing as a rule."""
    if experiment not in scores or scores[experiment]["training"]["date"] == stored["training"]["date"]:
        return ""
    return f"{stage}@{experiment}: of another training than the scores; run it again"


def missing(failures: dict[str, dict[str, Any]], experiment: str) -> str:
    """Why an experiment has no scores: the reports say so where they would stand."""
    failure = failures.get(experiment)
    return f"failed in {failure['stage']}: {shorten(literal(failure['error']), 200)}" if failure else "not run"


def missing_cell(failures: dict[str, dict[str, Any]], experiment: str) -> Cell:
    """The same as a cell."""
    return Cell(missing(failures, experiment), unrun=True)


def failed_since(results: Results) -> list[str]:
    """A paragraph on each experiment that failed after its scores were written; of none as a rule."""
    return [
        f"**{name}** {missing(results.failures, name)} ({results.failures[name]['date']}); what the reports have of it "
        "is from before."
        for name in results.scores
        if name in results.failures
    ]


def how_it_was_made(score: dict[str, Any]) -> str:
    """A Markdown list from a score file."""
    training, search, corpus = score["training"], score["search"], score["corpus"]
    test = score["splits"]["test"]
    speed, cut = test.get("sentences_per_second", score["speed"]), test["cut_at_the_length_limit"]
    return (
        f"- model: {settings(training['model'])}; {training['parameters']:,} parameters, "
        f"vocabulary {training['vocabulary']:,}\n"
        f"- training: {settings(training['training'])}; products in {training['products_in']}\n"
        f"- done: {training['update']:,} updates, {training['epoch'] + 1} passes over "
        f"{corpus['pairs']['train']:,} pairs begun, {training['target_tokens']:,} target tokens, "
        f"{training['target_tokens'] / training['seconds']:,.0f} a second and "
        f"{training['target_tokens'] / training['update']:,.0f} an update; {duration(training['seconds'])}, "
        f"and {duration(training['validation_seconds'])} of validation\n"
        f"- weights: mean of updates {', '.join(map(str, training['averaged_updates']))}\n"
        f"- search: {settings(search)}; {speed:.3g} sentences/s; {cut} outputs cut at the length limit\n"
        f"- data: corpus {training['corpus']}, shards sha256 {training['hashes']['shards'][:16]}, "
        f"sub-words sha256 {training['hashes']['subwords'][:16]}\n"
        f"{_left_out(training.get('left_out', {}))}"
        f"{''.join(map(_made_by, training['made_by']))}"
        f"- finished {training['date']}, MLflow run {training['mlflow_run'] or 'none'}"
    )


def _left_out(counts: dict[str, dict[str, int]]) -> str:
    """A line on the pairs that the bounds of the shards left out; score files from before this was kept have none."""
    splits = "; ".join(f"of {split} {listed(dropped)}" for split, dropped in counts.items())
    return f"- left out by the bounds of the shards: {splits}\n" if splits else ""


def _made_by(made_by: dict[str, Any]) -> str:
    machine = made_by["machine"]
    return (
        f"- trained by commit {made_by['commit']} on {machine['devices']} x {machine['device']}, a large fp32 product "
        f"at {machine['flops_per_second'] / 1e9:,.0f} GFLOP/s; torch {machine['torch']}\n"
    )
