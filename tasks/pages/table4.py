"""Table 4: constituency parsing, the paper's rows and what was measured here.

Part of the stage `report`; writes reports/table4.md from reports/scores/*.json and tasks/results/paper.yaml.
"""

from typing import Any

from tasks.common.markdown import number, table
from tasks.figures.gallery import markdown
from tasks.results.provenance import TRAINED, failed_since, how_it_was_made, missing, trained
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


def table4(results: Results) -> str:
    """The page on all experiments with trees; those without scores say so."""
    params, scores, paper = results.params, results.scores, results.paper
    measured = {name: scores[name] for name in params.experiments if name in scores}
    parts = [
        "# Table 4: English constituency parsing",
        "Written by `dvc repro --single-item report`; do not edit.",
        "## The paper's rows (WSJ section 23; printed in the paper, not measured here)",
        table(["parser", "training", "F1"], [[r["parser"], r["training"], number(r["f1"])] for r in paper["table4"]]),
        "## Measured here",
        measured_rows(results),
        *failed_since(results),
        NOTES,
        "## What it took",
        cost_rows(measured) if measured else "Nothing has been measured yet.",
        "## Where the numbers come from",
        "\n\n".join(map(provenance, measured, measured.values())) or "Nothing has been measured yet.",
        "## Learning curves",
        markdown("parsing_curves.png"),
        "## Ten sentences of our own, parsed",
        "\n\n".join(map(our_trees, measured, measured.values())) or "Nothing has been measured yet.",
    ]
    return "\n\n".join(parts) + "\n"


def measured_rows(results: Results) -> str:
    """One row for each experiment and kind of search; those without scores say why."""
    params, measured = results.params, results.scores
    header = [
        "experiment", "test set", "search", "sentences", "recall", "precision", "F1", "complete match", "failed",
        "tags", "repaired", "cut", "sentences/s",
    ]  # fmt: skip
    rows = []
    for name, experiment in params.experiments.items():
        if name not in measured:
            test_set = params.corpora[experiment.corpus].test_set
            rows.append([name, test_set, missing(results.failures, name), *[""] * (len(header) - 3)])
            continue
        score = measured[name]
        for kind in (kind for kind in SEARCHES if kind in score["scores"]):
            found, outputs = score["scores"][kind], score["splits"][kind]
            rows.append([
                name,
                score["corpus"]["test_set"],
                SEARCHES[kind],
                f"{found['sentences']:,}",
                _both(found, "recall"),
                f"{found['precision']:.2f}",
                f"**{_both(found, 'f1')}**",
                _both(found, "complete_match"),
                str(found["failed"]),
                "–" if found["tagging"] is None else f"{found['tagging']:.2f}",
                f"{outputs['repaired'] / outputs['sentences']:.2%}",
                f"{outputs['cut_at_the_length_limit'] / outputs['sentences']:.2%}",
                f"{outputs['sentences_per_second']:.1f}",
            ])  # fmt: skip
    return table(header, rows)


def _both(found: dict[str, Any], key: str) -> str:
    """A figure, and behind it that with failed sentences counted as missed, where it is another."""
    without, with_failed = f"{found[key]:.2f}", f"{found[f'{key}_all']:.2f}"
    return without if without == with_failed else f"{without} ({with_failed})"


def cost_rows(measured: Scores) -> str:
    """Size, time and machine of each training."""
    header = [
        "experiment", "preset", "F1 on valid", "perplexity per sub-word, test", "parameters", *TRAINED,
    ]  # fmt: skip
    rows = []
    for name, score in measured.items():
        training = score["training"]
        rows.append([
            name,
            training["preset"],
            f"{score['scores']['valid']['f1']:.2f}",
            f"{score['splits']['test']['perplexity']['per_subword']:.3f}",
            f"{training['parameters']:,}",
            *trained(training),
        ])  # fmt: skip
    return table(header, rows)


def provenance(name: str, score: dict[str, Any]) -> str:
    """Rules, settings, data, machine and run of one experiment."""
    return (
        f"**{name}** (preset {score['training']['preset']}), linearised as {score['text']['trees']}, scored by "
        f"{score['scores']['test']['rules']}; test set {score['corpus']['test_set']}, valid split of "
        f"{score['scores']['valid']['sentences']:,} sentences.\n\n{how_it_was_made(score)}"
    )


def our_trees(name: str, score: dict[str, Any]) -> str:
    """What a model makes of the ten sentences in tasks/sentences.txt, of any output, repaired."""
    return f"**{name}**\n\n```\n" + "\n".join(tree for _, tree in score["ours"]) + "\n```"
