"""What the page says of a sweep."""

from dataclasses import replace

from tasks.common.document import as_markdown
from tasks.common.settings import read_params
from tasks.pages.sweep_tables import averaging, best, search, signature, sweep_tables
from tasks.results.stored import Results

SWEEP = {
    "own": {"search": {"beam": 4, "length_penalty": 0.6}},
    "averaging": [{"last": 1, "bleu": 24.5, "perplexity": 8.811}, {"last": 8, "bleu": 28.125, "perplexity": 7.7}],
    "search": [
        {"beam": beam, "length_penalty": exponent, "bleu": bleu}
        for beam, scores in ((1, (27.0, 28.0)), (4, (26.5, 29.0)), (8, (26.0, 28.5)))
        for exponent, bleu in zip((0.0, 0.6), scores, strict=True)
    ],
}  # fmt: skip


def test_each_point_is_in_a_table() -> None:
    assert as_markdown(averaging("e", SWEEP)).splitlines() == [
        "| weights averaged | 1 | 8 |",
        "| --- | --- | --- |",
        "| sacreBLEU | 24.50 | 28.12 |",
        "| perplexity | 8.81 | 7.70 |",
    ]
    assert as_markdown(search("e", SWEEP)).splitlines()[0] == "| sacreBLEU by length penalty | 0.0 | 0.6 |"
    assert as_markdown(search("e", SWEEP)).splitlines()[3:] == [
        "| beam 4 | 26.50 | 29.00 |",
        "| beam 8 | 26.00 | 28.50 |",
    ]


def test_a_best_point_at_the_edge_says_so() -> None:
    said = best(SWEEP)
    assert "beam 4, length penalty 0.6, the largest length penalty tried, so a better one may lie beyond" in said
    assert said.endswith("The scores of Table 2 are by the experiment's own search: beam 4, 0.6.")
    inside = {**SWEEP, "search": [*SWEEP["search"], {"beam": 8, "length_penalty": 1.0, "bleu": 25.0}]}
    assert "beam 4, length penalty 0.6. The" in best(inside)


def test_a_sweep_of_another_training_has_no_table() -> None:
    training = {"date": "2026-11-30T10:00:00", "mlflow_run": "0123456789", "made_by": [{"commit": "c0ffee" * 6}]}
    results = Results(read_params(), {}, {}, {"e": {**SWEEP, "training": training}}, None, [], {}, {})
    name, *tables = sweep_tables(results)
    assert name == "**e**, MLflow run 01234567, commit c0ffeec0, 2026-11-30:"
    assert tables[:-1] == [averaging("e", SWEEP), search("e", SWEEP), best(SWEEP)]
    assert tables[-1] == "sacreBLEU on the valid split: how it was computed is not stored."
    assert not sweep_tables(replace(results, scores={"e": {"training": {**training, "date": "2026-12-01T10:00:00"}}}))


def test_the_signature_is_that_of_the_points_or_of_a_score_that_is_the_same_number() -> None:
    signed = {**SWEEP, "averaging": [{**one, "signatures": {"bleu": "tok:zh"}} for one in SWEEP["averaging"]]}
    own = {"scores": {"valid": {"bleu": {"score": 28.125, "signature": "tok:13a"}}}}
    assert signature(signed, own) == "sacreBLEU on the valid split: `tok:zh`."
    assert signature(SWEEP, own) == "sacreBLEU on the valid split: `tok:13a`."
    own["scores"]["valid"]["bleu"]["score"] = 28.126
    assert signature(SWEEP, own).endswith("not stored.")
