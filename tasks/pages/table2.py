"""Table 2: translation quality and training cost, the paper's rows and what was measured here.

Part of the stage `report`; writes reports/table2.md from reports/scores/*.json, reports/comparisons/*.json and
tasks/results/paper.yaml.
"""

from typing import Any

from tasks.common.document import Block, Cell, Heading, Page, Row, Table, count, fixed, from_runs, large, row_of, strong
from tasks.common.markdown import signed
from tasks.figures.gallery import picture
from tasks.pages.sweep_tables import sweep_tables
from tasks.results.costs import device_hours, price
from tasks.results.provenance import failed_since, how_it_was_made, missing_cell, preset_cell, preset_of, trained
from tasks.results.stored import Results, Scores

OTHER = (
    "*Plain quotes*: BLEU the paper's way with the typographic quotes of the reference made plain, without which the "
    "released script does not come to the paper's scale on newstest2014. Perplexity is that of the averaged model on "
    "the references. Per sub-word, as the paper gives it, it compares only within one vocabulary. End symbols count "
    "as sub-words and as words."
)
DIFFERENCES = (
    "p-values of sacreBLEU's paired bootstrap and approximate randomisation, from `python -m tasks.compare`: how often "
    "a difference as large would come of the choice of test sentences alone."
)


def table2(results: Results) -> Page:
    """The paper's rows, then ours, then where each of our numbers comes from."""
    scores, paper, compared = results.scores, results.paper, results.comparisons
    blocks: list[Block] = [
        "The first table is BLEU on tokenised text with "
        "compounds split, as far as the released evaluation script tells. Ours is given in that way, in a column of "
        "its own, and as sacreBLEU on plain text, usually about a point lower for the same output.",
        Heading("The paper's rows (newstest2014; printed in the paper, not measured here)"),
        papers_rows(paper),
        Heading("Measured here"),
        measured_rows(results),
        *failed_since(results),
        "A row on another test set than newstest2014 says nothing about the paper's rows. Scores are cased: a model of "
        "lower-cased text (preset wu2021) has its comparison in [multi30k.md](multi30k.md). *Copied source* is the "
        "same metric for an output that repeats its input. Cost by the paper's method is training time x devices x the "
        "device's sustained single-precision rate (the paper's footnote 5; for a device that is not in it, a large "
        "matrix product timed on it at the start, so that the load of the machine changes it). "
        "*Counted* is from the sizes of all matrices multiplied in training; it can be more than that, because the "
        "rate is of single precision, and products in bf16 are faster. "
        "Time and device-hours are those of the updates alone, without validation and saving. *Price* is device-hours "
        "at the prices assumed in params.yaml, for the reader to set. A commit with *+changes* had changes that no "
        "commit has. An MLflow run is on the machine that trained.",
        *other_scores(scores),
        *better_by_more_than_luck(compared, scores),
        Heading("Where the numbers come from", folded=True),
        provenance(scores) if scores else "Nothing has been measured yet.",
        Heading("Learning curves"),
        picture("learning_curves.png"),
        Heading("Averaging and search, varied"),
        picture("averaging.png"),
        picture("search.png"),
        *sweep_tables(results),
        Heading("Ten sentences of our own, translated"),
        our_sentences(scores) if scores else "Nothing has been measured yet.",
    ]
    return Page("Table 2: translation quality and training cost", blocks)


def papers_rows(paper: dict[str, Any]) -> Table:
    """The rows as printed."""
    header = ["system", "BLEU en-de", "BLEU en-fr", "FLOPs en-de", "FLOPs en-fr"]
    keys = ["en-de", "en-fr", "flops_en-de", "flops_en-fr"]
    return Table(header, [[row["system"], *(large(row.get(key)) for key in keys)] for row in paper["table2"]])


def measured_rows(results: Results) -> Table:
    """One row for each experiment of params.yaml; those without scores say why."""
    params, scores, paper = results.params, results.scores, results.paper
    header = [
        "experiment", "preset", "test set", "sacreBLEU", "BLEU, the paper's way", "chrF", "sacreBLEU of copied source",
        "parameters",
        "FLOPs, paper's method", "FLOPs, counted", "hardware", "training time", "device-hours", "price (assumed)",
        "date", "commit", "MLflow run",
    ]  # fmt: skip
    rows: list[Row] = []
    for name, experiment in params.experiments.items():
        if name not in scores:
            corpus = params.corpora[experiment.corpus]
            test_set = f"{corpus.test_set} {corpus.languages.source}-{corpus.languages.target}"
            rows.append(
                [
                    name,
                    preset_cell(experiment.preset, experiment.changes),
                    test_set,
                    missing_cell(results.failures, name),
                    *[""] * (len(header) - 4),
                ]
            )
            continue
        test, training = scores[name]["scores"]["test"], scores[name]["training"]
        languages = training["languages"]
        took, hardware, *origin = trained(training)
        rows.append(row_of(name, [
            preset_cell(training["preset"], training["changes"]),
            f"{scores[name]['corpus']['test_set']} {languages['source']}-{languages['target']}",
            strong(fixed(test["bleu"]["score"])),
            fixed(test["bleu_paper"]["score"]),
            fixed(test["chrf"]["score"]),
            fixed(test["bleu_of_copied_source"]["score"]),
            count(training["parameters"]),
            large(papers_cost(training, paper)),
            large(training["flops"]),
            hardware,
            took,
            Cell(f"{device_hours(training):.3g}", device_hours(training)),
            price(training, params.prices),
            *origin,
        ]))  # fmt: skip
    return Table(header, rows)


def other_scores(scores: Scores) -> list[Block]:
    """The part on them; nothing where there are none."""
    return [Heading("Other scores of the same outputs"), other_rows(scores), OTHER] if scores else []


def other_rows(scores: Scores) -> Table:
    """TER, the paper's BLEU with plain quotes, and perplexities; one row for each measured experiment."""
    header = [
        "experiment", "plain quotes", "TER", "perplexity per sub-word, valid", "the same, test", "per word, valid",
        "the same, test",
    ]  # fmt: skip
    rows: list[Row] = []
    for name, score in scores.items():
        test = score["scores"]["test"]
        perplexities = [score["splits"][split]["perplexity"] for split in ("valid", "test")]
        rows.append(row_of(name, [
            fixed(test["bleu_paper_plain_quotes"]["score"]),
            fixed(test["ter"]["score"]),
            *(fixed(found[of]) for of in ("per_subword", "per_word") for found in perplexities),
        ]))  # fmt: skip
    return Table(header, rows)


def better_by_more_than_luck(compared: list[dict[str, Any]], scores: Scores) -> list[Block]:
    """The part on what was compared; nothing where nothing was."""
    return [Heading("Better by more than luck?"), differences(compared, scores), DIFFERENCES] if compared else []


def differences(compared: list[dict[str, Any]], scores: Scores) -> Table:
    """Each comparison whose outputs are still those that were scored; the others are named."""
    header = ["experiment", "baseline", "score", "its", "the baseline's", "p, bootstrap", "p, randomisation"]
    rows: list[Row] = []
    for found in compared:
        pair = found["experiment"], found["baseline"]
        named = [Cell(each, runs=(each,)) for each in pair]
        for name, metric in found["metrics"].items():
            now = [scores[each]["scores"]["test"][name]["score"] for each in pair if each in scores]
            if now != [metric["score"], metric["baseline"]]:
                rows.append([*named, name, "scored anew since: compare again", "", "", ""])
                continue
            pvalues = (fixed(metric[f"p_{test}"], 4) for test in ("bootstrap", "randomisation"))
            its, other = fixed(metric["score"]), fixed(metric["baseline"])
            rows.append(
                [*named, name, *from_runs(pair[:1], [its]), *from_runs(pair[1:], [other]), *from_runs(pair, pvalues)]
            )
    return Table(header, rows)


def papers_cost(training: dict[str, Any], paper: dict[str, Any]) -> float:
    """FLOPs: training time in s x number of devices x sustained single-precision FLOP/s of one (section 6.1).

    A training that moved to another machine is counted as if all of it ran on the last one.
    """
    machine = training["made_by"][-1]["machine"]
    printed = [rate for name, rate in paper["flops_per_second"].items() if name in machine["device"]]
    rate = printed[0] if printed else machine["flops_per_second"]
    return float(training["seconds"] * machine["devices"] * rate)


def provenance(scores: Scores) -> str:
    """For each experiment: signatures, settings, data, machine, run."""
    blocks = []
    for name, score in scores.items():
        test, valid = score["scores"]["test"], score["scores"]["valid"]
        blocks.append(
            f"**{name}** ({preset_of(score['training'])}): "
            f"BLEU {signed(test['bleu'])}, the paper's way {signed(test['bleu_paper'])}, chrF {signed(test['chrf'])}, "
            f"TER {signed(test['ter'])} on {test['sentences']:,} sentences of "
            f"{score['corpus']['test_set']} (BLEU {valid['bleu']['score']:.2f} on the "
            f"{valid['sentences']:,} of the valid split).\n\n{how_it_was_made(score)}"
        )
    return "\n\n".join(blocks)


def our_sentences(scores: Scores) -> Table:
    """What each model makes of the ten sentences in tasks/sentences.txt."""
    translated = {name: dict(score["ours"]) for name, score in scores.items() if score["ours"]}
    sentences = list(dict.fromkeys(source for pairs in translated.values() for source in pairs))
    rows: list[Row] = [[source, *(pairs.get(source, "") for pairs in translated.values())] for source in sentences]
    return Table(["source", *translated], rows)
