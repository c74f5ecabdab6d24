"""The page of all reports, as text; tests/test_page_in_browser.py looks at it in a browser."""

import re

import pytest

from tasks.pages.index import card, index_page
from tasks.pages.sections import Picture, Renderer, sort_value
from tasks.results.stored import Results
from tasks.scoring.bleu import NOT_APPLICABLE
from tests.tasks.pages.test_table2 import PARAMS, scores

RUN = "e: MLflow run fedcba98, commit 01234567, 2026-11-29"
PICTURE = Picture("data:image/png;base64,AA==", "A curve", "It falls.")


def html(text: str) -> str:
    return Renderer({"e": RUN}, {"figures/curve.png": PICTURE}).section("some_report.md", f"# Title\n\n{text}").html


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("27.3", 27.3), ("2,598,912", 2598912), ("6.3e13", 6.3e13), ("1.2e-07", 1.2e-7), ("30.51%", 30.51),
        ("+0.4% (-0.1% to +0.9%)", 0.4),
        ("+0.4", 0.4), ("−0.5", -0.5), ("-0.5", -0.5), ("4.92 ± 0.03", 4.92), ("78.93 (77.10)", 78.93), 
        ("71.0 / 47.5", 71.0), ("1.25 ms, 6.5 MB", 1.25), ("0.42 EUR", 0.42),
        ("1 h 24 min", 5040), ("5 min 16 s", 316), ("43 s", 43), ("0 s", 0), ("", None),
        ("–", None), ("not run", None), ("2026-11-30", None), ("076bc011", None), ("2 x AMD EPYC", None),
        ("2 layers", None), ("A1", None),
    ],
)  # fmt: skip
def test_what_a_cell_sorts_by(text: str, value: float | None) -> None:
    assert sort_value(text) == value


def test_a_column_with_a_word_in_it_sorts_as_text() -> None:
    page = html("| a | b | c |\n| --- | --- | --- |\n| 1 | 1 | – |\n| 2 | two | – |\n| not run |  | – |")
    assert re.findall(r'data-kind="(\w+)"', page) == ["number", "text", "text"]
    assert re.findall(r'data-sort="([\d.]+)"', page) == ["1.0", "2.0"]


def test_numbers_of_a_run_lead_to_it_and_those_of_others_do_not() -> None:
    page = html(
        "| experiment | BLEU | date |\n| --- | --- | --- |\n| e | **31.4** | 2026-11-29 |\n| theirs | 27.3 | 2017 |"
    )
    link = f'<a href="#run-e" title="{RUN}">'
    assert f"{link}e</a>" in page
    assert f"{link}<strong>31.4</strong></a>" in page
    assert page.count("<a ") == 2


def test_numbers_in_a_column_of_a_run_lead_to_it() -> None:
    assert '<a href="#run-e"' in html("| what | e | others |\n| --- | --- | --- |\n| updates | 20 | 30 |")


def test_the_papers_numbers_lead_nowhere_and_a_mean_names_all_its_runs() -> None:
    renderer = Renderer({"e": "first", "e-seed2": "second"}, {})
    page = renderer.section(
        "table3.md",
        "# T\n\n| experiment | BLEU, paper | BLEU, the paper's way |\n| - | - | - |\n| e | 25.8 | 25.0 ± 0.1 |",
    ).html
    assert ">25.8<" in page and "25.8</a>" not in page
    assert '<a href="#run-e" title="first; second">25.0 ± 0.1</a>' in page
    assert '<a href="#run-e" title="first">e</a>' in page


def test_a_difference_names_all_runs_of_both() -> None:
    renderer = Renderer({"a": "first", "a-seed2": "second", "base": "third", "base-seed2": "fourth"}, {})
    page = renderer.section(
        "table3.md",
        "# T\n\n| difference to base | perplexity, paper | perplexity |\n| - | - | - |\n"
        "| a | +7.5% | +2.0% (-1.0% to +5.0%) |",
    ).html
    assert '<a href="#run-a" title="first; second; third; fourth">+2.0% (-1.0% to +5.0%)</a>' in page
    assert "+7.5%</a>" not in page


def test_a_row_of_which_only_another_seed_was_measured_leads_to_that() -> None:
    page = (
        Renderer({"e-seed2": "second"}, {})
        .section("t.md", "# T\n\n| experiment | BLEU |\n| - | - |\n| e | 25.0 |")
        .html
    )
    assert '<a href="#run-e-seed2" title="second">25.0</a>' in page


def test_numbers_of_table_1_lead_to_the_stage_that_measured_it() -> None:
    layers = {
        "settings": {"width": 64}, "machine": {"device": "some processor", "torch": "2"},
        "commit": "0123456789abcdef", "date": "2026-11-29T10:00:00",
    }  # fmt: skip
    exponents = "| layer | the paper's exponent | time |\n| - | - | - |\n| recurrent | 2 | 1.93 |\n"
    text = f"# Table 1\n\n## Theirs (printed in the paper)\n\n{exponents}\n## Measured here\n\n{exponents}"
    page = index_page(Results(PARAMS, {}, {}, {}, layers, [], {}, {}), {"table1.md": text}, {})
    assert page.count('<a href="#run-layers"') == 1
    assert '<a href="#run-layers" title="layers: commit 01234567, 2026-11-29">1.93</a>' in page
    assert '<details id="run-layers">' in page


def test_outputs_cannot_bring_html_into_the_page() -> None:
    page = html(
        "| source | e |\n| --- | --- |\n| <script>alert(1)</script> | <img src=x onerror=alert(2)> |\n\n<b>bold</b>"
    )
    assert not re.findall(r"<(script|img|b)\b", page)
    assert "&lt;script&gt;" in page


def test_pictures_are_inside_and_reports_link_to_each_other_within_the_page() -> None:
    page = html("![x](figures/curve.png)\n\nMore in [table4.md](table4.md).")
    assert '<img src="data:image/png;base64,AA==" alt="A curve">' in page
    assert "It falls." in page
    assert '<a href="#table4">table4</a>' in page


def test_a_caption_is_not_said_twice() -> None:
    assert html("![x](figures/curve.png)\n\nIt\nfalls.\n\nMore.").count("falls.") == 1
    assert "Another." in html("![x](figures/curve.png)\n\nAnother.")


def test_parts_have_anchors_and_long_origins_are_folded() -> None:
    section = Renderer({}, {}).section(
        "table9.md", "# Table 9: some\n\n## Measured here\n\na\n\n## Where the numbers come from\n\nb\n\n## Last\n\nc\n"
    )
    assert section.title == "Table 9: some"
    assert section.parts[0] == ("table9-measured-here", "Measured here")
    assert [anchor for anchor, _ in section.parts] == re.findall(r'id="([^"]+)"', section.html)
    folded = section.html[section.html.index("<details") : section.html.index("</details>")]
    assert ">b<" in folded and ">c<" not in folded


def test_parts_of_parts_have_anchors_of_their_own() -> None:
    part = "### Differences\n\na\n\n"
    section = Renderer({}, {}).section("t.md", f"# T\n\n## Large\n\n{part}## Small\n\n{part}")
    anchors = ["t-large", "t-large-differences", "t-small", "t-small-differences"]
    assert re.findall(r'id="([^"]+)"', section.html) == anchors


def test_what_was_measured_comes_first_and_what_was_not_is_named() -> None:
    score = {**scores(), "text": {"lowercase": False}}
    results = Results(
        PARAMS, {"e": score}, {"unrun": {"stage": "train", "error": "out of memory"}}, {}, None, [], {}, {}
    )
    page = index_page(results, {"table2.md": "# Table 2\n\ntext\n"}, {"figures/curve.png": PICTURE})
    assert "1 of 2 experiments measured; not yet: unrun." in page
    assert "unrun failed in train: out of memory" in page
    assert f'<a href="#run-e" title="{RUN}"><span>e</span><strong>31.42</strong>' in page
    assert f'<details id="run-e"><summary>{RUN}</summary>' in page
    assert "a large fp32 product at 200 GFLOP/s" in page
    assert '<h3 id="figures-a-curve">A curve</h3>' in page, "a figure that no report shows"
    assert '<a href="#figures-a-curve">A curve</a>' in page


def test_rows_of_table_3_are_counted_and_their_runs_are_folded() -> None:
    names = ["e", "base", "table3-A1", "table3-tiny-base", "table3-tiny-A1", "table3-tiny-A1-seed2"]
    params = PARAMS.model_copy(update={"experiments": dict.fromkeys(names, PARAMS.experiments["e"])})
    score = {**scores(), "text": {"lowercase": False}}
    measured = {"e": score, "table3-tiny-A1": score, "table3-tiny-base": score}
    page = index_page(Results(params, measured, {}, {}, None, [], {}, {}), {"table3.md": "# Table 3\n\ntext\n"}, {})
    assert (
        "3 of 6 experiments measured; not yet: base, trainings for Table 3 at the paper&#39;s size (1), "
        "trainings for Table 3 at laptop size (1)."
    ) in page
    assert "<strong>0 / 2</strong>" in page and "<strong>2 / 2</strong>" in page
    fold = page.index('<details id="runs-table3">')
    assert page.index('<details id="run-e">') < fold < page.index('<details id="run-table3-tiny-A1">')
    assert "without base and big: 2 runs" in page


def test_long_text_has_a_wide_column() -> None:
    page = html(f"| a | b | c |\n| --- | --- | --- |\n| x | {'many words ' * 6} | 1 |")
    assert re.findall(r'<t[hd][^>]* class="(\w+)"', page) == ["text", "prose", "number"]


def test_nothing_measured() -> None:
    page = index_page(Results(PARAMS, {}, {}, {}, None, [], {}, {}), {}, {})
    assert "0 of 2 experiments measured; not yet: e, unrun." in page
    assert "Nothing has been measured yet." in page


def test_lower_cased_text_is_quoted_by_the_score_for_it() -> None:
    score = {**scores(), "text": {"lowercase": True}}
    score["scores"]["test"]["bleu_lowercase_tokens"] = {"score": 41.0}
    page = index_page(Results(PARAMS, {"e": score}, {}, {}, None, [], {}, {}), {}, {})
    assert "<strong>41.00</strong>" in page
    assert "BLEU, lower-cased tokens on made-up" in page


def test_lower_cased_text_without_spaces_is_quoted_by_sacrebleu() -> None:
    score = {**scores(), "text": {"lowercase": True}}
    score["scores"]["test"]["bleu_lowercase_tokens"] = NOT_APPLICABLE
    quoted = card("e", score, "from")
    assert (quoted.score, quoted.metric) == ("31.42", "sacreBLEU")
