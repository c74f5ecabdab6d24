"""All reports as one page that needs nothing else: tables that sort, pictures inside, each number with its run.

Part of the stage `report`; writes reports/index.html from the reports, the figures and reports/scores/*.json.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from tasks.common.document import Page
from tasks.common.markdown import duration, settings, short_commit
from tasks.figures.gallery import FIGURES, picture
from tasks.pages.html import Renderer, prose, section_of_figures
from tasks.results.provenance import hardware, how_it_was_made, run_of
from tasks.results.stored import Results
from tasks.results.table3_statistics import SIZES

TEMPLATE = Path(__file__).with_suffix(".html")
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


def index_page(results: Results, pages: Mapping[str, Page], figures: Path) -> str:
    """The page; `pages` are by the names of their files without .md, `figures` is the folder of the pictures."""
    runs = {name: origin(name, score) for name, score in results.scores.items()}
    layers = {} if results.layers is None else {LAYERS: origin_of_layers(results.layers)}
    renderer = Renderer({**runs, **layers}, figures)
    sections = [renderer.section(name, page) for name, page in pages.items()]
    if others := [picture(name) for name in FIGURES if name not in renderer.shown]:
        sections.append(section_of_figures(renderer, others))
    origins = [Run(name, runs[name], prose(how_it_was_made(score))) for name, score in results.scores.items()]
    rows = results.params.variations
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        cards=[card(name, score, runs[name]) for name, score in results.scores.items() if name not in rows],
        tables=table3_cards(results) if "table3" in pages else [],
        unrun=unrun(results),
        failures=results.failures,
        measured=len(results.scores),
        experiments=len(results.params.experiments),
        sections=sections,
        runs=[run for run in origins if run.name not in rows]
        + [Run(name, said, prose(how_layers_were_measured(results.layers or {}))) for name, said in layers.items()],
        row_runs=[run for run in origins if run.name in rows],
    )


def origin(name: str, score: dict[str, Any]) -> str:
    """The run, commit and date behind a number, in one line."""
    return f"{name}: {run_of(score['training'])}"


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
    size = f"{training['parameters']:,} parameters"
    cost = f"{duration(training['seconds'])} on {hardware(training)}"
    return Card(name, f"{value:.2f}", metric, score["corpus"]["test_set"], size, cost, where_from)


def table3_cards(results: Results) -> list[Table3Card]:
    """One of each size that params.yaml has; a row with several seeds counts once."""
    found = []
    for table, size in SIZES.items():
        of_table = {name: one.row for name, one in results.params.experiments.items() if one.table == table}
        known, done = set(of_table.values()), {row for name, row in of_table.items() if name in results.scores}
        if known:
            found.append(Table3Card(size, len(done), len(known)))
    return found


def unrun(results: Results) -> list[str]:
    """The experiments without a score by name, but how many trainings of each size of Table 3."""
    lacking = {name: one for name, one in results.params.experiments.items() if name not in results.scores}
    rows = Counter(str(one.table) for one in lacking.values() if one.is_variation)
    return [name for name, one in lacking.items() if not one.is_variation] + [
        f"trainings for Table 3 {size.lower()} ({rows[table]})" for table, size in SIZES.items() if rows[table]
    ]
