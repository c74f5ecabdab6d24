"""The paper's tables and figures with what was measured here beside them, from whatever scores exist.

python -m tasks.report

params.yaml  tasks/results/paper.yaml  tasks/results/published.yaml
reports/{scores,layers,sweeps,attention,failures,comparisons}/*.json
  -> reports/table1.md  reports/table2.md  reports/table3.md  reports/table4.md  reports/multi30k.md
     reports/figures/* (tasks/figures/ says which)  reports/index.html, all of these in one page
     reports/metrics/E.json  reports/curves.csv
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path

from tasks.common.document import Page, markdown
from tasks.common.paths import REPORTS
from tasks.figures.gallery import FIGURES
from tasks.pages.dvc_files import curves, metrics
from tasks.pages.index import index_page
from tasks.pages.multi30k import multi30k
from tasks.pages.table1 import table1
from tasks.pages.table2 import table2
from tasks.pages.table3 import table3
from tasks.pages.table4 import table4
from tasks.results.stored import Results, read_results
from transformer.io.errors import run_main
from transformer.io.files import whole_file, whole_folder
from transformer.io.progress import track

DO_NOT_EDIT = "Written by `dvc repro --single-item report`; do not edit."
PAGES: dict[str, Callable[[Results], Page]] = {
    "table1": lambda results: table1(results.layers, results.paper),
    "table2": lambda results: table2(results.translation),
    "table3": table3,
    "table4": lambda results: table4(results.parsing),
    "multi30k": lambda results: multi30k(results.translation),
}


def main() -> None:
    """Write all reports."""
    ArgumentParser(
        "python -m tasks.report", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    ).parse_args()
    results = read_results()
    write_reports(results, REPORTS)
    print(f"reports: {len(results.scores)} of {len(results.params.experiments)} experiments measured")


def write_reports(results: Results, folder: Path) -> None:
    """Figures, pages, the page of all of them, and what `dvc metrics` and `dvc plots` show."""
    for name, figure in track(FIGURES.items(), "report", "figure", len(FIGURES)):
        with whole_file(folder / "figures" / name) as temporary:
            figure.draw(results, temporary)
    pages = {name: page(results) for name, page in PAGES.items()}
    texts = {f"{name}.md": markdown(Page(page.title, [DO_NOT_EDIT, *page.blocks])) for name, page in pages.items()}
    texts["index.html"] = index_page(results, pages, folder / "figures")
    for name, text in texts.items():
        with whole_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    with whole_folder(folder / "metrics") as temporary:
        for name, text in metrics(results.scores).items():
            (temporary / f"{name}.json").write_text(text, encoding="utf-8")
    with whole_file(folder / "curves.csv") as temporary:
        temporary.write_text(curves(results), encoding="utf-8")


if __name__ == "__main__":
    run_main(main)
