"""Table 3: variations of the architecture, the paper's rows with what was measured here beside them.

Part of the stage `report`; writes reports/table3.md from params.yaml, reports/scores/*.json, reports/sweeps/*.json,
reports/failures/*.json and tasks/results/paper.yaml.
"""

import math
from datetime import datetime, timedelta
from statistics import mean, stdev
from typing import Any

from tasks.common.document import Block, Cell, Heading, Page, Row, Table, count, fixed, from_runs, row_of
from tasks.common.markdown import duration, settings, short_commit
from tasks.figures.gallery import picture
from tasks.results.provenance import TRAINED, failed_since, hardware, how_it_was_made, missing, trained
from tasks.results.stored import Results
from tasks.results.table3_statistics import (
    BLEU,
    PERPLEXITY,
    SIZES,
    Difference,
    Variation,
    compared,
    found_differences,
    papers_difference,
    residual,
    variations,
)

INTRODUCTION = """\
Each row changes of base what stands beside it, and nothing else; a test holds the settings to the paper. As in the
paper's Table 3 nothing is averaged, and scores are on the development set: perplexity per sub-word, and BLEU on
tokenised text with compounds split, the paper's way, with sacreBLEU in a column of its own. Where a row was trained
with several seeds, it has their mean ± standard deviation. Rows that did not run are blank."""
VOCABULARY = 40_960  # with which all rows but big have as many parameters as the paper prints: a test counts
VOCABULARY_OF_BIG = 36_000
NO_PART = ("snapshot_every", "keep_snapshots", "validate_every", "seed")  # of what a row is
STILL_LEARNING = 0.05  # a perplexity that fell by more in the last quarter of the updates is far from its end
DIFFERENCES = """\
A difference is the mean over the seeds that a row and base were both trained with; beside it stands in how many of
these seeds it has that sign. Perplexities are compared by their logarithm. How much of the paper's own differences is
luck nobody can tell: it has one training a row, as far as it says."""
INTERVALS = """\
In brackets stands the interval of a difference: ± t · s · √(2 / n) for n seeds, where s is the standard deviation of
what is left of each score when it is taken as row + seed (least squares). All intervals of a column hold at once with
95% (Bonferroni), so a sign is *within noise* where its interval has both signs. A seed fixes the order of the data, the
first weights and what dropout leaves out, so all rows of one seed are taken to share its luck. What is left is taken to
spread alike in all rows."""


def table3(results: Results) -> Page:
    """The page."""
    blocks: list[Block] = [
        INTRODUCTION,
        *(block for name in SIZES for block in size(results, name)),
        Heading("The paper's differences and ours"),
        picture("table3.png"),
        Heading("Where the numbers come from", folded=True),
        *provenance(results),
    ]
    return Page("Table 3: variations of the architecture", blocks)


def size(results: Results, name: str) -> list[Block]:
    """The part on one of SIZES: the rows, their differences to base, and in how many the sign is the paper's."""
    rows = variations(results, name)
    paper = {row["row"]: row for row in results.paper["table3"]}
    found = {score: found_differences(rows, score) for score in (PERPLEXITY, BLEU)}
    return [
        Heading(SIZES[name]),
        *how_far(results, rows[0]),
        *smaller(results, rows[0]),
        dev_set(results, rows),
        row_table(results, rows, paper),
        *failed_since(results.only([name for row in rows for name in row.names])),
        *(vocabulary(results, rows[0]) if name == "table3" else []),
        Heading("Differences to base", level=3),
        difference_table(rows, paper, found),
        *summary(rows, paper, found),
    ]


def how_far(results: Results, base: Variation) -> list[str]:
    """How much base still learned towards its end: what is cut short says who learns fast, not who learns most."""
    falls, still = [], []
    for name, one in base.measured.items():
        training = results.scores[name]["training"]
        valid = training["curve"]["valid"]
        early = [update for update in valid["update"] if update <= 0.75 * training["update"]]
        if early and len(early) < len(valid["update"]):
            before, after = valid["perplexity"][len(early) - 1], valid["perplexity"][-1]
            falls.append(f"from {before:.2f} to {after:.2f} (seed {one.seed})")
            still.append(after < (1 - STILL_LEARNING) * before)
    if not falls:
        return []
    fell = f"the perplexity of base on the valid split went {', '.join(falls)}"
    if not all(still):
        return [f"In the last quarter of its updates {fell}."]
    done = results.scores[next(iter(base.measured))]["training"]["training"]
    return [
        f"**Rows are compared far from convergence**: base after {done['updates']:,} updates of about "
        f"{done['tokens_per_update']:,} tokens, in whose last quarter {fell}. So the table shows first how fast each "
        "variation learns, and not how well it does in the end."
    ]


def smaller(results: Results, base: Variation) -> list[str]:
    """What base has otherwise than the paper's, of all that a score depends on; nothing of the paper's size."""
    experiments = results.params.experiments
    if not base.names or not results.params.experiments[base.names[0]].is_variation or "base" not in experiments:
        return []
    ours, papers = experiments[base.names[0]], experiments["base"]
    own, printed = ({**one.model.model_dump(), **one.training.model_dump()} for one in (ours, papers))
    differing = [key for key in own if own[key] != printed[key] and key not in NO_PART]
    words = ", ".join(f"{key} {_thousands(own[key])} ({_thousands(printed[key])})" for key in differing)
    sizes = (results.params.corpora[one.corpus].subwords.vocabulary for one in (ours, papers))
    vocabulary, of_paper = map(_thousands, sizes)
    return [
        f"Of the size in the paper (in brackets) base differs by {words}; by the learning rate, which follows from "
        f"these; by the vocabulary, {vocabulary} ({of_paper}); and by the corpus, {ours.corpus} "
        f"({papers.corpus}). The other rows change base in the paper's ratios, and only the differences to base can be "
        "held against the paper's, whose columns are those of its own size on newstest2013."
    ]


def _thousands(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def vocabulary(results: Results, base: Variation) -> list[str]:
    """Why the parameters are not the paper's to the last million."""
    if not base.names:
        return []
    ours = results.params.corpora[results.params.experiments[base.names[0]].corpus].subwords.vocabulary
    return [
        "The paper names its vocabulary only roughly, about 37,000 sub-words. Its parameters are those of "
        f"{VOCABULARY:,} from base to (C), and of about {VOCABULARY_OF_BIG:,} in big; ours has {ours:,}."
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


def row_table(results: Results, rows: list[Variation], paper: dict[str, Any]) -> Table:
    """One line a row: what it changes, its scores and its parameters, the paper's and ours."""
    header = [
        "experiment", "what it changes", "trainings", "perplexity, paper", "perplexity", "BLEU, paper",
        "BLEU, the paper's way", "sacreBLEU", "10⁶ parameters, paper", "10⁶ parameters",
    ]  # fmt: skip
    lines: list[Row] = []
    for row in rows:
        printed, size = paper[row.row], row.values("parameters")
        papers_size = printed.get("parameters")
        lines.append([
            Cell(label(row), runs=tuple(row.measured)),
            what_it_changes(results, row, printed),
            state(results, row),
            fixed(printed["perplexity"]),
            spread(row, "perplexity"),
            fixed(printed["bleu"], 1),
            spread(row, "bleu_paper"),
            spread(row, "bleu"),
            Cell(str(papers_size), papers_size) if papers_size else "",
            *(from_runs(list(row.measured)[:1], [fixed(size[0] / 1e6)]) if size else [""]),
        ])  # fmt: skip
    return Table(header, lines)


def label(row: Variation) -> str:
    """The row's first experiment, whose name tells the row; the row alone where it has none."""
    return row.names[0] if row.names else row.row


def spread(row: Variation, score: str) -> Cell:
    """Mean of a row's seeds and, of several, standard deviation; nothing of none."""
    values = row.values(score)
    if not values:
        return Cell(blank=True)
    text = f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")
    return Cell(text, mean(values), tuple(row.measured))


def what_it_changes(results: Results, row: Variation, printed: dict[str, Any]) -> str:
    """The settings that the paper prints for this row, with the values it was trained with, or is to be."""
    if not row.names:
        return settings(printed["settings"])
    name = next(iter(row.measured), row.names[0])
    if name in row.measured:
        training = results.scores[name]["training"]
        own = {**training["model"], **training["training"]}
    else:
        experiment = results.params.experiments[name]
        own = {**experiment.model.model_dump(), **experiment.training.model_dump()}
    return settings({key: own[key] for key in printed["settings"]})


def state(results: Results, row: Variation) -> Cell:
    """How many of a row's trainings there are, and why others are not."""
    lacking = [name for name in row.names if name not in row.measured]
    failed = [name for name in lacking if name in results.failures and name not in row.outdated]
    if not row.measured and not row.outdated:
        return Cell(missing(results.failures, failed[0]) if failed else "not run", unrun=True)
    unswept = [name for name, one in row.measured.items() if one.perplexity is None]
    reasons = [
        *(f"{name} {missing(results.failures, name)}" for name in failed),
        *(f"{name} is of other settings than params.yaml" for name in row.outdated),
        *(f"{name} has no sweep, and so no score of its last weights" for name in unswept),
    ]
    told = f"{len(row.measured)} of {len(row.names)}" if lacking else str(len(row.names))
    return Cell("; ".join([told, *reasons]), len(row.measured), tuple(row.measured)[:1])


def difference_table(rows: list[Variation], paper: dict[str, Any], found: dict[str, dict[str, Difference]]) -> Table:
    """One line for each row but base."""
    header = [
        f"difference to {label(rows[0])}", "perplexity, paper", "perplexity", "seeds of this sign", "sign agrees",
        "BLEU, paper", "BLEU, the paper's way", "seeds of this sign", "sign agrees",
    ]  # fmt: skip
    lines: list[Row] = []
    for row in rows[1:]:
        perplexity, bleu = (found[score].get(row.row) for score in (PERPLEXITY, BLEU))
        printed = {score: papers_difference(paper, row.row, score) for score in (PERPLEXITY, BLEU)}
        runs = [*row.measured, *rows[0].measured]
        lines.append([
            Cell(label(row), runs=tuple(row.measured)),
            Cell(percent(printed[PERPLEXITY]), printed[PERPLEXITY]),
            *from_runs(runs, [_with_interval(perplexity, percent), _seeds(perplexity)]),
            sign(printed[PERPLEXITY], perplexity),
            Cell(f"{printed[BLEU]:+.1f}" if printed[BLEU] else "0.0", printed[BLEU]),
            *from_runs(runs, [_with_interval(bleu, "{:+.2f}".format), _seeds(bleu)]),
            sign(printed[BLEU], bleu),
        ])  # fmt: skip
    return Table(header, lines)


def percent(logarithm: float) -> str:
    """By how much a perplexity is larger, from the difference of logarithms."""
    return f"{math.expm1(logarithm):+.1%}" if logarithm else "0.0%"


def _with_interval(found: Difference | None, write: Any) -> Cell:
    if found is None:
        return Cell(blank=True)
    if found.low is None or found.high is None:
        return Cell(write(found.value), found.value)
    return Cell(f"{write(found.value)} ({write(found.low)} to {write(found.high)})", found.value)


def _seeds(found: Difference | None) -> Cell:
    return Cell(f"{found.same_sign} of {found.seeds}", found.same_sign) if found else Cell(blank=True)


def sign(printed: float, found: Difference | None) -> str:
    """Whether a difference measured here has the paper's sign; a dash where the one or the other has none."""
    if found is None:
        return ""
    if printed == 0 or found.value == 0:
        return "–"
    word = "yes" if found.value * printed > 0 else "no"
    return f"{word}, within noise" if found.may_be_luck else word


def summary(rows: list[Variation], paper: dict[str, Any], found: dict[str, dict[str, Difference]]) -> list[str]:
    """In how many rows the sign agrees, and how large the noise is; nothing where nothing is compared."""
    titles = {PERPLEXITY: "Perplexity", BLEU: "BLEU"}
    said = [
        f"{_agreement(titles[score], paper, score, found[score])} {_noise(rows, score, found[score])}"
        for score in titles
        if found[score]
    ]
    if not said:
        return []
    told = any(one.low is not None for of_score in found.values() for one in of_score.values())
    return [*said, DIFFERENCES, *([INTERVALS] if told else [])]


def _noise(rows: list[Variation], score: str, found: dict[str, Difference]) -> str:
    deviation, freedom = residual({row.row: compared(row, score) for row in rows})
    if all(one.low is None for one in found.values()):
        return f"There are too few seeds to tell how much of this is luck ({freedom} degrees of freedom)."
    size = f"{math.expm1(deviation):.1%}" if score == PERPLEXITY else f"{deviation:.2f} points"
    return f"Beside row and seed, luck has a standard deviation of {size} ({freedom} degrees of freedom)."


def _agreement(title: str, paper: dict[str, Any], score: str, found: dict[str, Difference]) -> str:
    words = [sign(papers_difference(paper, row, score), difference) for row, difference in found.items()]
    told = any(difference.low is not None for difference in found.values())

    def with_sign(word: str) -> str:
        luck = words.count(f"{word}, within noise")
        return f"{words.count(word) + luck}" + (f" ({luck} of them within noise)" if told else "")

    return (
        f"**{title}**: of the {len(words) - words.count('–')} rows that differ from base both in the paper and here, "
        f"{with_sign('yes')} have the paper's sign and {with_sign('no')} the other."
    )


def provenance(results: Results) -> list[Block]:
    """How long all took, where each training came from, and the settings that all share, once for each size."""
    blocks: list[Block] = []
    for name, title in SIZES.items():
        measured = [one for row in variations(results, name) for one in row.measured]
        if measured:
            blocks += [f"**{title}**: {_cost(results, measured)}", _runs(results, measured), _shared(results, measured)]
    return blocks or ["Nothing has been measured yet."]


def _cost(results: Results, names: list[str]) -> str:
    """How many trainings in what time, on what, from which commits."""
    scores = [results.scores[name] for name in names]
    updates = sum(score["training"]["seconds"] for score in scores)
    rest = sum(score["training"]["validation_seconds"] + score["seconds"] for score in scores)
    machines = sorted({hardware(score["training"]) for score in scores})
    commits = sorted({short_commit(score["training"]["made_by"][-1]["commit"]) for score in scores})
    return (
        f"{len(names)} trainings, {duration(updates)} of updates and {duration(rest)} of validation and translation on "
        f"{' or '.join(machines)}, added up over all, also over those that ran side by side; within "
        f"{duration(by_the_clock(scores))} by the clock, from the first one's start to the last one's end, pauses "
        f"included; commits {', '.join(commits)}."
    )


def by_the_clock(scores: list[dict[str, Any]]) -> float:
    """Seconds from the start of the first training to the end of the last."""
    ends = [datetime.fromisoformat(score["training"]["date"]) for score in scores]
    taken = [timedelta(seconds=score["training"]["seconds"]) for score in scores]
    return (max(ends) - min(end - seconds for end, seconds in zip(ends, taken, strict=True))).total_seconds()


def _runs(results: Results, names: list[str]) -> Table:
    """One line a training."""
    header = ["experiment", "seed", "updates", *TRAINED]
    lines: list[Row] = []
    for name in names:
        training = results.scores[name]["training"]
        numbers = [count(training["training"]["seed"]), count(training["update"])]
        lines.append(row_of(name, [*numbers, *trained(training)]))
    return Table(header, lines)


def _shared(results: Results, names: list[str]) -> str:
    """The settings of one training, from which the others differ by what the table says and the seed."""
    valid = results.scores[names[0]]["scores"]["valid"]
    return (
        f"The settings of {names[0]}; the others differ by what the table above says and by the seed. BLEU the paper's "
        f"way is `{valid['bleu_paper']['signature']}`, sacreBLEU `{valid['bleu']['signature']}`, on "
        f"{valid['sentences']:,} sentences.\n\n{how_it_was_made(results.scores[names[0]])}"
    )
