"""All reports as one page that needs nothing else: tables that sort, pictures inside, each number with its run.

Part of the stage `report`; writes reports/index.html from the reports, the figures and reports/scores/*.json.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from tasks.common.markdown import settings, short_commit
from tasks.common.table3_rows import parse_name
from tasks.pages.sections import Picture, Renderer, plain_html, section_of_figures
from tasks.results.provenance import how_it_was_made, trained
from tasks.results.stored import Results
from tasks.results.table3_statistics import SIZES

TEMPLATE = Path(__file__).with_suffix(".html")
DO_NOT_EDIT = "Written by `dvc repro --single-item report`; do not edit."  # of the single files
LAYERS = "layers"  # the stage that measures Table 1


class Card(NamedTuple):
    """What is said first of a measured experiment."""

    name: str
    score: str
    metric: str
    test_set: str
    size: str
    cost: str
    origin: str


class Table3Card(NamedTuple):
    """How many rows of Table 3 have been trained."""

    size: str
    done: int
    rows: int


class Run(NamedTuple):
    """Where the numbers of an experiment come from."""

    name: str
    summary: str
    html: str


def index_page(results: Results, reports: Mapping[str, str], pictures: Mapping[str, Picture]) -> str:
    """The page; `reports` are Markdown by file name, `pictures` by the path that the reports give."""
    runs = {name: origin(name, score) for name, score in results.scores.items()}
    layers = {} if results.layers is None else {LAYERS: origin_of_layers(results.layers)}
    renderer = Renderer({**runs, **layers}, pictures)
    sections = [
        renderer.section(name, text.replace(DO_NOT_EDIT, ""), LAYERS if layers and name == "table1.md" else "")
        for name, text in reports.items()
    ]
    shown = "".join(section.html for section in sections)
    if others := [picture for picture in pictures.values() if picture.data_uri not in shown]:
        sections.append(section_of_figures(others))
    origins = [Run(name, runs[name], plain_html(how_it_was_made(score))) for name, score in results.scores.items()]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        cards=[card(name, score, runs[name]) for name, score in results.scores.items() if not _is_row(name)],
        tables=table3_cards(results) if "table3.md" in reports else [],
        unrun=unrun(results),
        failures=results.failures,
        measured=len(results.scores),
        experiments=len(results.params.experiments),
        sections=sections,
        runs=[run for run in origins if not _is_row(run.name)]
        + [
            Run(name, said, plain_html(how_layers_were_measured(results.layers or {}))) for name, said in layers.items()
        ],
        row_runs=[run for run in origins if _is_row(run.name)],
    )


def origin(name: str, score: dict[str, Any]) -> str:
    """The run, commit and date behind a number, in one line."""
    *_, date, commit, run = trained(score["training"])
    return f"{name}: MLflow run {run}, commit {commit}, {date}"


def origin_of_layers(layers: dict[str, Any]) -> str:
    """The same of Table 1, which no experiment measures."""
    return f"{LAYERS}: commit {short_commit(layers['commit'])}, {layers['date'][:10]}"


def how_layers_were_measured(layers: dict[str, Any]) -> str:
    """A Markdown list from reports/layers/measured.json."""
    machine = layers["machine"]
    return (
        f"- settings: {settings(layers['settings'])}\n- measured by commit {layers['commit']} on {machine['device']}; "
        f"torch {machine['torch']}\n- finished {layers['date']}"
    )


def card(name: str, score: dict[str, Any], where_from: str) -> Card:
    """The score to quote: F1 of a parser, BLEU of a translator, on lower-cased tokens if that is its text."""
    test, training = score["scores"]["test"], score["training"]
    if "f1" in test:
        value, metric = test["f1"], "F1"
    elif score["text"]["lowercase"] and (tokens := test["bleu_lowercase_tokens"]["score"]) is not None:
        value, metric = tokens, "BLEU, lower-cased tokens"
    else:
        value, metric = test["bleu"]["score"], "sacreBLEU"
    took, hardware, *_ = trained(training)
    size, cost = f"{training['parameters']:,} parameters", f"{took} on {hardware}"
    return Card(name, f"{value:.2f}", metric, score["corpus"]["test_set"], size, cost, where_from)


def table3_cards(results: Results) -> list[Table3Card]:
    """One of each size that params.yaml has; a row with several seeds counts once."""
    rows = [
        (row.table, row.row, name in results.scores) for name in results.params.experiments if (row := parse_name(name))
    ]
    found = []
    for table, size in SIZES.items():
        known = {row for of, row, _ in rows if of == table}
        done = {row for of, row, measured in rows if of == table and measured}
        if known:
            found.append(Table3Card(size, len(done), len(known)))
    return found


def unrun(results: Results) -> list[str]:
    """The experiments without a score by name, but how many trainings of each size of Table 3."""
    names = [name for name in results.params.experiments if name not in results.scores]
    rows = Counter(row.table for name in names if _is_row(name) and (row := parse_name(name)))
    return [name for name in names if not _is_row(name)] + [
        f"trainings for Table 3 {size.lower()} ({rows[table]})" for table, size in SIZES.items() if rows[table]
    ]


def _is_row(name: str) -> bool:
    """Whether an experiment is a row of Table 3 only, of which there are too many to name each."""
    return parse_name(name) is not None and name not in ("base", "big")
