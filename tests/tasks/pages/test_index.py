"""The page of all reports, as text; tests/test_page_in_browser.py looks at it in a browser."""

import re
from pathlib import Path

import pytest

from tasks.common.document import (
    Block,
    Cell,
    Heading,
    Page,
    Picture,
    Row,
    Table,
    count,
    fixed,
    from_runs,
    large,
    lasting,
    row_of,
    share,
    strong,
)
from tasks.figures.gallery import FIGURES
from tasks.pages.html import Renderer
from tasks.pages.index import card, index_page
from tasks.pages.table1 import table1
from tasks.results.stored import Results
from tasks.scoring.bleu import NOT_APPLICABLE
from tests.tasks.pages.test_table1 import PRINTED, layers
from tests.tasks.pages.test_table2 import PARAMS, scores

RUN = "e: MLflow run fedcba98, commit 01234567, 2026-11-29"


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    for name in [*FIGURES, "curve.png"]:
        (tmp_path / name).write_bytes(b"\0")
    return tmp_path


def html(*blocks: Block, runs: dict[str, str] | None = None, figures: Path = Path()) -> str:
    return Renderer({"e": RUN} if runs is None else runs, figures).section("report", Page("Title", blocks)).html


def table(header: list[str], *rows: Row, runs: dict[str, str] | None = None) -> str:
    return html(Table(header, rows), runs=runs)


@pytest.mark.parametrize(
    ("cell", "text", "value"),
    [
        (fixed(27.314), "27.31", 27.314), (fixed(5.0, 3), "5.000", 5.0), (fixed(None), "not applicable", None),
        (count(2598912), "2,598,912", 2598912), (large(6.3e13), "6.3e13", 6.3e13), (large(27.3), "27.3", 27.3),
        (large(None), "–", None), (share(0.3051), "30.51%", 30.51), (lasting(5040), "1 h 24 min", 5040),
        (strong(fixed(31.4)), "**31.40**", 31.4),
    ],
)  # fmt: skip
def test_what_a_cell_shows_and_sorts_by(cell: Cell, text: str, value: float | None) -> None:
    assert (cell.text, cell.value, cell.blank) == (text, pytest.approx(value), value is None)


def test_a_column_with_a_word_in_it_sorts_as_text() -> None:
    unrun = Cell("not run", unrun=True)
    page = table(["a", "b", "c"], [fixed(1), fixed(1), "–"], [fixed(2), "two", "–"], [unrun, "", ""])
    assert re.findall(r'data-kind="(\w+)"', page) == ["number", "text", "text"]
    assert re.findall(r'data-sort="([\d.]+)"', page) == ["1", "2"]
    assert page.count('<tr class="unrun">') == 1


def test_numbers_of_a_run_lead_to_it_and_those_of_others_do_not() -> None:
    page = table(
        ["experiment", "BLEU", "date"],
        row_of("e", [strong(fixed(31.4)), "2026-11-29"]),
        ["theirs", fixed(27.3), "2017"],
    )
    link = f'<a href="#run-e" title="{RUN}">'
    assert f"{link}e</a>" in page
    assert f"{link}<strong>31.40</strong></a>" in page
    assert page.count("<a ") == 2


def test_a_mean_names_all_its_runs_and_leads_to_the_first_that_was_measured() -> None:
    runs = {"e": "first", "e-seed2": "second"}
    mean = from_runs(["e", "e-seed2"], [Cell("25.0 ± 0.1", 25.0)])
    assert '<a href="#run-e" title="first; second">25.0 ± 0.1</a>' in table(["BLEU"], mean, runs=runs)
    assert '<a href="#run-e-seed2" title="second">25.0 ± 0.1</a>' in table(["BLEU"], mean, runs={"e-seed2": "second"})
    assert "<a " not in table(["BLEU"], mean, runs={})


def test_numbers_of_table_1_lead_to_the_stage_that_measured_it_and_the_papers_nowhere(figures: Path) -> None:
    measured = layers()
    results = Results(PARAMS, {}, {}, {}, measured, [], PRINTED, {})
    page = index_page(results, {"table1": table1(measured, PRINTED)}, figures)
    paper, _, ours = page.partition("Measured here</h3>")
    assert '<a href="#run-layers"' not in paper and '<a href="#run-layers" title="layers: commit' in ours
    assert '<details id="run-layers">' in page


def test_outputs_cannot_bring_html_into_the_page() -> None:
    page = html(Table(["source", "e"], [["<script>alert(1)</script>", "<img src=x onerror=alert(2)>"]]), "<b>bold</b>")
    assert not re.findall(r"<(script|img|b)\b", page)
    assert "&lt;script&gt;" in page


def test_pictures_are_inside_and_reports_link_to_each_other_within_the_page(figures: Path) -> None:
    page = html(Picture("curve.png", "A curve", "It falls."), "More in [table4.md](table4.md).", figures=figures)
    assert '<img src="data:image/png;base64,AA==" alt="A curve"><figcaption>It falls.</figcaption>' in page
    assert '<a href="#table4">table4</a>' in page


def test_parts_have_anchors_and_long_origins_are_folded() -> None:
    blocks = [Heading("Measured here"), "a", Heading("Where from", folded=True), "b", Heading("Last (1)"), "c"]
    section = Renderer({}, Path()).section("table9", Page("Table 9: some", blocks))
    assert section.title == "Table 9: some"
    assert section.parts[0] == ("table9-measured-here", "Measured here")
    assert [anchor for anchor, _ in section.parts] == re.findall(r'id="([^"]+)"', section.html)
    folded = section.html[section.html.index("<details") : section.html.index("</details>")]
    assert ">b<" in folded and ">c<" not in folded


def test_parts_of_parts_have_anchors_of_their_own() -> None:
    blocks = [block for size in ("Large", "Small") for block in (Heading(size), Heading("Differences", level=3), "a")]
    section = Renderer({}, Path()).section("t", Page("T", blocks))
    anchors = ["t-large", "t-large-differences", "t-small", "t-small-differences"]
    assert re.findall(r'id="([^"]+)"', section.html) == anchors


def test_what_was_measured_comes_first_and_what_was_not_is_named(figures: Path) -> None:
    score = {**scores(), "text": {"lowercase": False}}
    results = Results(
        PARAMS, {"e": score}, {"unrun": {"stage": "train", "error": "out of memory"}}, {}, None, [], {}, {}
    )
    page = index_page(results, {"table2": Page("Table 2", ["text"])}, figures)
    assert "1 of 2 experiments measured; not yet: unrun." in page
    assert "unrun failed in train: out of memory" in page
    assert f'<a href="#run-e" title="{RUN}"><span>e</span><strong>31.42</strong>' in page
    assert f'<details id="run-e"><summary>{RUN}</summary>' in page
    assert "a large fp32 product at 200 GFLOP/s" in page
    assert '<h3 id="figures-learning-curves">Learning curves</h3>' in page, "a figure that no report shows"
    assert '<a href="#figures-learning-curves">Learning curves</a>' in page


def test_rows_of_table_3_are_counted_and_their_runs_are_folded(figures: Path) -> None:
    rows = {
        "e": (None, None), "base": ("table3", "base"), "table3-A1": ("table3", "A1"),
        "table3-tiny-base": ("table3-tiny", "base"), "table3-tiny-A1": ("table3-tiny", "A1"),
        "table3-tiny-A1-seed2": ("table3-tiny", "A1"),
    }  # fmt: skip
    one = PARAMS.experiments["e"]
    experiments = {name: one.model_copy(update={"table": table, "row": row}) for name, (table, row) in rows.items()}
    params = PARAMS.model_copy(update={"experiments": experiments})
    score = {**scores(), "text": {"lowercase": False}}
    measured = {"e": score, "table3-tiny-A1": score, "table3-tiny-base": score}
    pages = {"table3": Page("Table 3", ["text"])}
    page = index_page(Results(params, measured, {}, {}, None, [], {}, {}), pages, figures)
    assert (
        "3 of 6 experiments measured; not yet: base, trainings for Table 3 at the paper&#39;s size (1), "
        "trainings for Table 3 at laptop size (1)."
    ) in page
    assert "<strong>0 / 2</strong>" in page and "<strong>2 / 2</strong>" in page
    fold = page.index('<details id="runs-table3">')
    assert page.index('<details id="run-e">') < fold < page.index('<details id="run-table3-tiny-A1">')
    assert "without base and big: 2 runs" in page


def test_long_text_has_a_wide_column() -> None:
    page = table(["a", "b", "c"], ["x", "many words " * 6, fixed(1)])
    assert re.findall(r'<t[hd][^>]* class="(\w+)"', page) == ["text", "prose", "number"]


def test_nothing_measured(figures: Path) -> None:
    page = index_page(Results(PARAMS, {}, {}, {}, None, [], {}, {}), {}, figures)
    assert "0 of 2 experiments measured; not yet: e, unrun." in page
    assert "Nothing has been measured yet." in page


def test_lower_cased_text_is_quoted_by_the_score_for_it(figures: Path) -> None:
    score = {**scores(), "text": {"lowercase": True}}
    score["scores"]["test"]["bleu_lowercase_tokens"] = {"score": 41.0}
    page = index_page(Results(PARAMS, {"e": score}, {}, {}, None, [], {}, {}), {}, figures)
    assert "<strong>41.00</strong>" in page
    assert "BLEU, lower-cased tokens on made-up" in page


def test_lower_cased_text_without_spaces_is_quoted_by_sacrebleu() -> None:
    score = {**scores(), "text": {"lowercase": True}}
    score["scores"]["test"]["bleu_lowercase_tokens"] = NOT_APPLICABLE
    quoted = card("e", score, "from")
    assert (quoted.score, quoted.metric) == ("31.42", "sacreBLEU")
