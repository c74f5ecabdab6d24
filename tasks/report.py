"""The paper's tables and figures with what was measured here beside them, from whatever scores exist.

python -m tasks.report

params.yaml  tasks/paper.yaml  tasks/published.yaml  reports/{scores,sweeps,attention,comparisons}/*.json
  -> reports/table2.md  reports/table4.md  reports/multi30k.md  reports/figures/* (tasks/figures/ says which)
     reports/metrics.json  reports/curves.csv
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable

from tasks.figures import FIGURES
from tasks.multi30k import multi30k
from tasks.paths import REPORTS
from tasks.results import Results, read_results
from tasks.summary import curves, metrics
from tasks.table2 import table2
from tasks.table4 import table4
from transformer.errors import run_main
from transformer.files import whole_file

PAGES: dict[str, Callable[[Results], str]] = {
    "table2.md": lambda results: table2(results.translation),
    "table4.md": lambda results: table4(results.parsing),
    "multi30k.md": lambda results: multi30k(results.translation),
    "metrics.json": lambda results: metrics(results.scores),
    "curves.csv": lambda results: curves(results.scores),
}


def main() -> None:
    """Write all reports."""
    ArgumentParser(
        "python -m tasks.report", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    ).parse_args()
    results = read_results()
    for name, figure in FIGURES.items():
        with whole_file(REPORTS / "figures" / name) as temporary:
            figure.draw(results, temporary)
    for name, page in PAGES.items():
        with whole_file(REPORTS / name) as temporary:
            temporary.write_text(page(results), encoding="utf-8")
    print(f"reports: {len(results.scores)} of {len(results.params.experiments)} experiments measured")


if __name__ == "__main__":
    run_main(main)
