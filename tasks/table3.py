"""Table 3: variations of the architecture, the paper's rows with what was measured here beside them.

Part of the stage `report`; writes reports/table3.md from params.yaml, reports/scores/*.json, reports/sweeps/*.json,
reports/failures/*.json and tasks/paper.yaml.
"""

import math
from statistics import mean, stdev
from typing import Any

from tasks.markdown import duration, settings, short_commit, table
from tasks.provenance import TRAINED, how_it_was_made, missing, trained
from tasks.results import Results
from tasks.settings import Experiment
from tasks.table3_rows import parse_name
from tasks.variations import Difference, Variation, differences, pooled_deviation, variations

SIZES = {"table3": "At the paper's size", "table3-tiny": "At laptop size"}
FIGURE = "figures/table3.png"
PERPLEXITY, BLEU = "perplexity", "bleu_paper"  # what is compared with the paper's: fields of tasks.variations.Measured
INTRODUCTION = """\
Each row changes of base what stands beside it, and nothing else; a test holds the settings to the paper. As in the
paper's Table 3 nothing is averaged, and scores are on the development set: perplexity per sub-word, and BLEU on
tokenised text with compounds split, the paper's way, with sacreBLEU in a column of its own. Where a row was trained
with several seeds, it has their mean ± standard deviation. Rows that did not run are blank."""
SMALLER = """\
Widths (d_model, d_ff, d_k, d_v) are an eighth of the paper's and layers half as many, heads and rates as in the paper,
and big has three times as many updates. Its text is another one, and so are its vocabulary and its perplexities: only
the differences to base can be held against the paper's, whose columns are those of its own size on newstest2013."""
NOISE = """\
*Noise*: what another seed alone changes. In brackets stands the interval of a difference by Dunnett's test of all rows
against base, whose spread is taken from all rows together; all intervals of a column hold at once with 95%, so a sign
is *within noise* where its interval has both signs. Perplexities are compared by their logarithm. How large the noise
of the paper's own differences is nobody can tell: it has one training a row, as far as it says."""
NO_NOISE = """\
No row has been trained with two seeds, so that nothing tells how much of a difference is luck."""


def table3(results: Results) -> str:
    """The page."""
    parts = [
        "# Table 3: variations of the architecture",
        "Written by `dvc repro --single-item report`; do not edit.",
        INTRODUCTION,
        *(part for name in SIZES for part in size(results, name)),
        "## The paper's differences and ours",
        f"![Differences to base, the paper's and those measured here]({FIGURE})",
        "## Where the numbers come from",
        provenance(results),
    ]
    return "\n\n".join(parts) + "\n"


def size(results: Results, name: str) -> list[str]:
    """The part on one of SIZES: the rows, their differences to base, and in how many the sign is the paper's."""
    rows = variations(results, name)
    paper = {row["row"]: row for row in results.paper["table3"]}
    found = {score: found_differences(rows, score) for score in (PERPLEXITY, BLEU)}
    return [
        f"## {SIZES[name]}",
        *([SMALLER] if name == "table3-tiny" else []),
        dev_set(results, rows),
        row_table(results, rows, paper),
        "### Differences to base",
        difference_table(rows, paper, found),
        *summary(rows, paper, found),
        *how_far(results, rows[0]),
    ]


def dev_set(results: Results, rows: list[Variation]) -> str:
    """Which corpus the rows learn, and on what they are scored."""
    name = next((name for row in rows for name in row.names), None)
    if name is None:
        return "params.yaml has no experiments of these rows."
    corpus = results.params.corpora[results.params.experiments[name].corpus]
    held_out = corpus.origin.valid
    split = held_out if isinstance(held_out, str) else f"the valid split of {corpus.test_set}"
    languages = corpus.languages
    return (
        f"Corpus `{results.params.experiments[name].corpus}`, {languages.source} to {languages.target}, "
        f"scored on {split}."
    )


def row_table(results: Results, rows: list[Variation], paper: dict[str, Any]) -> str:
    """One line a row: what it changes, its scores and its parameters, the paper's and ours."""
    header = [
        "experiment", "what it changes", "trainings", "perplexity, paper", "perplexity", "BLEU, paper",
        "BLEU, the paper's way", "sacreBLEU", "10⁶ parameters, paper", "10⁶ parameters",
    ]  # fmt: skip
    lines = []
    for row in rows:
        printed, size = paper[row.row], row.values("parameters")
        lines.append([
            label(row),
            what_it_changes(results, row, printed),
            state(results, row),
            f"{printed['perplexity']:.2f}",
            spread(row.values("perplexity")),
            f"{printed['bleu']:.1f}",
            spread(row.values("bleu_paper")),
            spread(row.values("bleu")),
            str(printed.get("parameters", "")),
            f"{size[0] / 1e6:.2f}" if size else "",
        ])  # fmt: skip
    return table(header, lines)


def label(row: Variation) -> str:
    """The row's first experiment, whose name tells the row; the row alone where it has none."""
    return row.names[0] if row.names else row.row


def spread(values: list[float]) -> str:
    """Mean and, of several, standard deviation; nothing of none."""
    if not values:
        return ""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def what_it_changes(results: Results, row: Variation, printed: dict[str, Any]) -> str:
    """The settings that the paper prints for this row, with the values that the experiment has."""
    experiments = results.params.experiments
    own = _fields(experiments[row.names[0]]) if row.names else printed["settings"]
    return settings({key: own[key] for key in printed["settings"]})


def _fields(experiment: Experiment) -> dict[str, Any]:
    return {**experiment.model.model_dump(), **experiment.training.model_dump()}


def state(results: Results, row: Variation) -> str:
    """How many of a row's trainings there are, and why others are not."""
    lacking = [name for name in row.names if name not in row.measured]
    failed = [name for name in lacking if name in results.failures]
    if len(lacking) == len(row.names):
        return missing(results.failures, failed[0]) if failed else "not run"
    count = f"{len(row.measured)} of {len(row.names)}" if lacking else str(len(row.names))
    reasons = [f"{name} {missing(results.failures, name)}" for name in failed]
    return "; ".join([count, *reasons])


def found_differences(rows: list[Variation], score: str) -> dict[str, Difference]:
    """Of each row that was measured, to base; of the logarithm of a perplexity."""
    return differences({row.row: compared(row, score) for row in rows})


def compared(row: Variation, score: str) -> list[float]:
    """The values whose means are compared."""
    values = row.values(score)
    return [math.log(value) for value in values] if score == PERPLEXITY else values


def difference_table(rows: list[Variation], paper: dict[str, Any], found: dict[str, dict[str, Difference]]) -> str:
    """One line for each row but base."""
    header = [
        "experiment", "perplexity, paper", "perplexity", "sign agrees", "BLEU, paper", "BLEU, the paper's way",
        "sign agrees",
    ]  # fmt: skip
    lines = []
    for row in rows[1:]:
        perplexity, bleu = (found[score].get(row.row) for score in (PERPLEXITY, BLEU))
        printed = {score: papers_difference(paper, row.row, score) for score in (PERPLEXITY, BLEU)}
        lines.append([
            label(row),
            percent(printed[PERPLEXITY]),
            _with_interval(perplexity, percent),
            sign(printed[PERPLEXITY], perplexity),
            f"{printed[BLEU]:+.1f}" if printed[BLEU] else "0.0",
            _with_interval(bleu, "{:+.2f}".format),
            sign(printed[BLEU], bleu),
        ])  # fmt: skip
    return table(header, lines)


def papers_difference(paper: dict[str, Any], row: str, score: str) -> float:
    """Of what is printed for a row to what is printed for base; of logarithms of perplexities."""
    if score == PERPLEXITY:
        return math.log(paper[row]["perplexity"] / paper["base"]["perplexity"])
    return round(float(paper[row]["bleu"] - paper["base"]["bleu"]), 1)


def percent(logarithm: float) -> str:
    """By how much a perplexity is larger, from the difference of logarithms."""
    return f"{math.expm1(logarithm):+.1%}" if logarithm else "0.0%"


def _with_interval(found: Difference | None, write: Any) -> str:
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return str(write(found.value))
    return f"{write(found.value)} ({write(found.low)} to {write(found.high)})"


def sign(printed: float, found: Difference | None) -> str:
    """Whether a difference measured here has the paper's sign; a dash where the paper prints the same as base."""
    if found is None:
        return ""
    if printed == 0:
        return "–"
    word = "yes" if found.value * printed > 0 else "no"
    return f"{word}, within noise" if found.may_be_luck else word


def summary(rows: list[Variation], paper: dict[str, Any], found: dict[str, dict[str, Difference]]) -> list[str]:
    """In how many rows the sign agrees, and how large the noise is; nothing where nothing is compared."""
    titles = {PERPLEXITY: "Perplexity", BLEU: "BLEU"}
    sentences = [_agreement(titles[score], paper, score, found[score]) for score in titles if found[score]]
    if not sentences:
        return []
    spreads = {score: {row.row: compared(row, score) for row in rows} for score in titles}
    try:
        (logarithm, freedom), (bleu, _) = (pooled_deviation(values) for values in spreads.values())
    except ValueError:
        return [" ".join(sentences), NO_NOISE]
    size = (
        f"The standard deviation of another seed is {math.expm1(logarithm):.1%} of a perplexity and {bleu:.2f} BLEU, "
        f"over all rows ({freedom} degrees of freedom)."
    )
    return [" ".join(sentences), f"{NOISE} {size}"]


def _agreement(title: str, paper: dict[str, Any], score: str, found: dict[str, Difference]) -> str:
    words = [sign(papers_difference(paper, row, score), difference) for row, difference in found.items()]
    told = any(difference.low is not None for difference in found.values())

    def count(word: str) -> str:
        luck = words.count(f"{word}, within noise")
        return f"{words.count(word) + luck}" + (f" ({luck} of them within noise)" if told else "")

    return (
        f"**{title}**: of the {len(words) - words.count('–')} rows that ran and for which the paper prints a "
        f"difference to base, {count('yes')} have the paper's sign and {count('no')} the other."
    )


def how_far(results: Results, base: Variation) -> list[str]:
    """How much base still learned towards its end: what is cut short says who learns fast, not who learns most."""
    for name in base.measured:
        training = results.scores[name]["training"]
        points = [point for point in training["curve"] if "valid_perplexity" in point]
        late = [point for point in points if point["update"] > 0.75 * training["update"]]
        if len(points) > len(late):
            before, after = points[-len(late) - 1], points[-1]
            return [
                f"From update {before['update']:,} to the last, {after['update']:,}, the perplexity of {name} on the "
                f"valid split went from {before['valid_perplexity']:.2f} to {after['valid_perplexity']:.2f}. The more "
                "it still falls at the end, the more a row shows how fast it learns, and the less how well."
            ]
    return []


def provenance(results: Results) -> str:
    """How long all took, where each training came from, and the settings that all share, once for each size."""
    blocks = []
    for name, title in SIZES.items():
        measured = [one for row in variations(results, name) for one in row.measured]
        if measured:
            blocks += [f"**{title}**: {_cost(results, measured)}", _runs(results, measured), _shared(results, measured)]
    return "\n\n".join(blocks) or "Nothing has been measured yet."


def _cost(results: Results, names: list[str]) -> str:
    """How many trainings in what time, on what, from which commits."""
    scores = [results.scores[name] for name in names]
    updates = sum(score["training"]["seconds"] for score in scores)
    rest = sum(score["training"]["validation_seconds"] + score["seconds"] for score in scores)
    hardware = sorted({trained(score["training"])[TRAINED.index("hardware")] for score in scores})
    commits = sorted({short_commit(score["training"]["made_by"][-1]["commit"]) for score in scores})
    return (
        f"{len(names)} trainings, {duration(updates)} of updates and {duration(rest)} of validation and translation on "
        f"{' or '.join(hardware)}; commits {', '.join(commits)}."
    )


def _runs(results: Results, names: list[str]) -> str:
    """One line a training."""
    header = ["experiment", "seed", "updates", *TRAINED]
    lines = []
    for name in names:
        training, row = results.scores[name]["training"], parse_name(name)
        lines.append([name, str(row.seed if row else ""), f"{training['update']:,}", *trained(training)])
    return table(header, lines)


def _shared(results: Results, names: list[str]) -> str:
    """The settings of one training, from which the others differ by what the table says and the seed."""
    valid = results.scores[names[0]]["scores"]["valid"]
    return (
        f"The settings of {names[0]}; the others differ by what the table above says and by the seed. BLEU the paper's "
        f"way is `{valid['bleu_paper']['signature']}`, sacreBLEU `{valid['bleu']['signature']}`, on "
        f"{valid['sentences']:,} sentences.\n\n{how_it_was_made(results.scores[names[0]])}"
    )
