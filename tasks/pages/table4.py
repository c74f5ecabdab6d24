"""Table 4: constituency parsing, the paper's rows and what was measured here.

Part of the stage `report`; writes reports/table4.md from reports/scores/*.json and tasks/results/paper.yaml.
"""

from typing import Any

from tasks.common.document import Block, Cell, Heading, Page, Row, Table, count, fixed, large, row_of, share, strong
from tasks.figures.gallery import picture
from tasks.results.provenance import (
    TRAINED,
    failed_since,
    how_it_was_made,
    missing_cell,
    preset_cell,
    preset_of,
    trained,
)
from tasks.results.stored import Results, Scores

SEARCHES = {"test": "any output, repaired", "test.well_formed": "only well-formed outputs"}
NOTES = """\
Recall, precision, F1 and complete match are labelled, in percent, by the rules of EVALB with COLLINS.prm: brackets of
punctuation and the outermost one do not count, ADVP is PRT. All lengths are in. The words carry the gold tags, since
EVALB tells punctuation by its tag; *tags* is how many a model that writes tags has right itself. *Failed* sentences
are such as EVALB cannot score; where there are some, figures with all their brackets counted as missed stand behind
the others. *Repaired* is the share of outputs that were no tree over the words of the sentence, and were made one by
the rules in `transformer/text/trees.py`; *cut* of those that ended at the length limit. A search for well-formed
outputs only never takes a step after which its output could be none.

A row on another test set than WSJ section 23 says nothing about the paper's rows. Parameters include the embeddings of
the words. Time is that of the updates alone, without validation and saving."""


def table4(results: Results) -> Page:
    """The page on all experiments with trees; those without scores say so."""
    params, scores, paper = results.params, results.scores, results.paper
    measured = {name: scores[name] for name in params.experiments if name in scores}
    blocks: list[Block] = [
        Heading("The paper's rows (WSJ section 23; printed in the paper, not measured here)"),
        Table(["parser", "training", "F1"], [[r["parser"], r["training"], large(r["f1"])] for r in paper["table4"]]),
        Heading("Measured here"),
        measured_rows(results),
        *failed_since(results),
        NOTES,
        Heading("What it took"),
        cost_rows(measured) if measured else "Nothing has been measured yet.",
        Heading("Where the numbers come from", folded=True),
        "\n\n".join(map(provenance, measured, measured.values())) or "Nothing has been measured yet.",
        Heading("Learning curves"),
        picture("parsing_curves.png"),
        Heading("Ten sentences of our own, parsed"),
        "\n\n".join(map(our_trees, measured, measured.values())) or "Nothing has been measured yet.",
    ]
    return Page("Table 4: English constituency parsing", blocks)


def measured_rows(results: Results) -> Table:
    """One row for each experiment and kind of search; those without scores say why."""
    params, measured = results.params, results.scores
    header = [
        "experiment", "test set", "search", "sentences", "recall", "precision", "F1", "complete match", "failed",
        "tags", "repaired", "cut", "sentences/s",
    ]  # fmt: skip
    rows: list[Row] = []
    for name, experiment in params.experiments.items():
        if name not in measured:
            test_set = params.corpora[experiment.corpus].test_set
            rows.append([name, test_set, missing_cell(results.failures, name), *[""] * (len(header) - 3)])
            continue
        score = measured[name]
        for kind in (kind for kind in SEARCHES if kind in score["scores"]):
            found, outputs = score["scores"][kind], score["splits"][kind]
            rows.append(row_of(name, [
                score["corpus"]["test_set"],
                SEARCHES[kind],
                count(found["sentences"]),
                _both(found, "recall"),
                fixed(found["precision"]),
                strong(_both(found, "f1")),
                _both(found, "complete_match"),
                count(found["failed"]),
                "–" if found["tagging"] is None else fixed(found["tagging"]),
                share(outputs["repaired"] / outputs["sentences"]),
                share(outputs["cut_at_the_length_limit"] / outputs["sentences"]),
                fixed(outputs["sentences_per_second"], 1),
            ]))  # fmt: skip
    return Table(header, rows)


def _both(found: dict[str, Any], key: str) -> Cell:
    """A figure, and behind it that with failed sentences counted as missed, where it is another."""
    without, with_failed = f"{found[key]:.2f}", f"{found[f'{key}_all']:.2f}"
    return Cell(without if without == with_failed else f"{without} ({with_failed})", found[key])


def cost_rows(measured: Scores) -> Table:
    """Size, time and machine of each training."""
    header = [
        "experiment", "preset", "F1 on valid", "perplexity per sub-word, test", "parameters", *TRAINED,
    ]  # fmt: skip
    rows: list[Row] = []
    for name, score in measured.items():
        training = score["training"]
        rows.append(row_of(name, [
            preset_cell(training["preset"], training["changes"]),
            fixed(score["scores"]["valid"]["f1"]),
            fixed(score["splits"]["test"]["perplexity"]["per_subword"], 3),
            count(training["parameters"]),
            *trained(training),
        ]))  # fmt: skip
    return Table(header, rows)


def provenance(name: str, score: dict[str, Any]) -> str:
    """Rules, settings, data, machine and run of one experiment."""
    return (
        f"**{name}** ({preset_of(score['training'])}), linearised as {score['text']['trees']}, scored by "
        f"{score['scores']['test']['rules']}; test set {score['corpus']['test_set']}, valid split of "
        f"{score['scores']['valid']['sentences']:,} sentences.\n\n{how_it_was_made(score)}"
    )


def our_trees(name: str, score: dict[str, Any]) -> str:
    """What a model makes of the ten sentences in tasks/sentences.txt, of any output, repaired."""
    return f"**{name}**\n\n```\n" + "\n".join(tree for _, tree in score["ours"]) + "\n```"
