"""The report on Multi30k: what was measured here beside what others have published, each kind of BLEU in its own table.

Part of the stage `report`; writes reports/multi30k.md from reports/scores/*.json and tasks/results/published.yaml.
"""

from statistics import mean, stdev
from typing import Any

from tasks.common.document import Block, Cell, Heading, Page, Row, Table, count, fixed, row_of, strong
from tasks.common.markdown import settings
from tasks.common.settings import Params
from tasks.results.provenance import TRAINED, failed_since, missing_cell, preset_of, trained
from tasks.results.stored import Results, Scores

TOKENS = "bleu_lowercase_tokens"


def multi30k(results: Results) -> Page:
    """The page. Only experiments on the published test set are on it; those without scores say so."""
    params, scores, published = results.params, results.scores, results.published["multi30k"]
    names = [
        name
        for name, experiment in params.experiments.items()
        if params.corpora[experiment.corpus].test_set == published["test_set"]
        and params.corpora[experiment.corpus].languages.model_dump() == published["languages"]
    ]
    measured = {name: scores[name] for name in names if name in scores}
    title = (
        f"Multi30k: {published['languages']['source']} to {published['languages']['target']}, "
        f"{published['test_set'].removeprefix('multi30k ')}"
    )
    blocks: list[Block] = [
        Heading("On lower-cased tokens"),
        token_rows(names, results),
        "Text in lower case, cut by the Moses tokeniser without splitting at hyphens, on both sides: the way in which "
        "scores on this test set are published. The first row is printed by its authors, not measured here. An "
        "experiment whose own text is cased or not cut is brought to this form after translation. "
        "Time is that of the updates alone, without validation and saving.",
        *failed_since(results.only(names)),
        *spread(params, measured),
        Heading("The same outputs, plain text"),
        plain_rows(names, results),
        "sacreBLEU and chrF of the outputs as one reads them (tokens joined again where the model writes tokens), "
        "against the raw references. A model trained on lower-cased text writes no capitals, and German has many: the "
        "cased columns count each of them as an error. No figure of this table compares with one of the table above.",
        Heading("Where the numbers come from", folded=True),
        *map(provenance, measured, measured.values()),
    ]
    return Page(title, blocks if measured else [*blocks, "Nothing has been measured yet."])


def token_rows(names: list[str], results: Results) -> Table:
    """BLEU on lower-cased tokens: the published row, then one for each experiment."""
    measured, published = results.scores, results.published["multi30k"]
    header = [
        "system", "BLEU", "precisions of 1- to 4-grams", "brevity penalty", "reference tokens", "updates",
        *TRAINED,
    ]  # fmt: skip
    theirs: Row = [f"{published['system']} (published)", fixed(published["bleu"]), *_parts(published)]
    rows: list[Row] = [[*theirs, published["updates"], "–", published["hardware"], "–", "–", "–"]]
    for name in names:
        if name not in measured:
            rows.append([name, missing_cell(results.failures, name), *[""] * (len(header) - 2)])
            continue
        found, training = measured[name]["scores"]["test"][TOKENS], measured[name]["training"]
        rows.append(
            row_of(name, [strong(fixed(found["score"])), *_parts(found), count(training["update"]), *trained(training)])
        )
    return Table(header, rows)


def plain_rows(names: list[str], results: Results) -> Table:
    """sacreBLEU and chrF on plain text, with the signatures; one row for each experiment."""
    measured = results.scores
    header = ["experiment", "BLEU, cased", "BLEU, case ignored", "chrF, cased"]
    rows: list[Row] = []
    for name in names:
        if name not in measured:
            rows.append([name, missing_cell(results.failures, name), *[""] * (len(header) - 2)])
            continue
        test = measured[name]["scores"]["test"]
        rows.append(row_of(name, [fixed(test[kind]["score"]) for kind in ("bleu", "bleu_lowercase", "chrf")]))
    return Table(header, rows)


def spread(params: Params, measured: Scores) -> list[str]:
    """For experiments that differ in nothing but the seed: a paragraph with mean, deviation and range."""
    groups: dict[str, list[str]] = {}
    for name in measured:
        one = params.experiments[name]
        groups.setdefault(f"{one.corpus} {one.preset} {one.changes}", []).append(name)
    paragraphs = []
    for names in groups.values():
        found = [measured[name]["scores"]["test"][TOKENS]["score"] for name in names]
        if len(names) > 1:
            paragraphs.append(
                f"{', '.join(names)} differ in nothing but the seed: BLEU {mean(found):.2f} in the mean, standard "
                f"deviation {stdev(found):.2f}, from {min(found):.2f} to {max(found):.2f}."
            )
    return paragraphs


def provenance(name: str, score: dict[str, Any]) -> str:
    """Signatures, settings, data and run of one experiment."""
    training, test = score["training"], score["scores"]["test"]
    signatures = "".join(f"; {kind} `{test[kind]['signature']}`" for kind in (TOKENS, "bleu_lowercase"))
    return (
        f"**{name}** ({preset_of(training)}): bleu `{test['bleu']['signature']}`{signatures}; chrf "
        f"`{test['chrf']['signature']}`\n\n"
        f"- text: {settings(score['text'])}\n"
        f"- model: {settings(training['model'])}; {training['parameters']:,} parameters, vocabulary "
        f"{training['vocabulary']:,}\n"
        f"- training: {settings(training['training'])}\n"
        f"- weights: mean of updates {', '.join(map(str, training['averaged_updates']))}\n"
        f"- search: {settings(score['search'])}\n"
        f"- commit {training['made_by'][-1]['commit']}, {training['date']}, "
        f"MLflow run {training['mlflow_run'] or 'none'}"
    )


def _parts(bleu: dict[str, Any]) -> list[Cell]:
    precisions = " / ".join(f"{precision:.1f}" for precision in bleu["precisions"])
    first = Cell(precisions, bleu["precisions"][0])
    return [first, fixed(bleu["brevity_penalty"], 3), count(bleu["reference_tokens"])]
