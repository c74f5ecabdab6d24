"""reports/benchmarks/translate.md from the runs that benchmarks/translate.py has measured.

    python -m benchmarks.translate_report        # again, after benchmarks/translate_notes.md has changed

reports/benchmarks/translate.json  benchmarks/translate_notes.md -> reports/benchmarks/translate.md
"""

from statistics import median
from typing import Any

from benchmarks.page import Page, Results
from benchmarks.rounds import about
from transformer.io.errors import run_main

PYTHON_TOOLKITS = ("marian", "marian_bf16", "fairseq", "fairseq_bf16")


def report(results: Results, notes: str) -> str:
    """The whole page: what was measured how, the table, the notes."""
    parts = [
        "# Translation speed beside other toolkits",
        "Written by `python -m benchmarks.translate`; the last section comes from `benchmarks/translate_notes.md`.",
        f"{about(results)}\n"
        f"- model {results['model']}; {results['corpus']}\n"
        f"- beam {results['beam']}, scores divided by length ^ {results['length_penalty']}, outputs up to "
        f"{results['extra_length']} sub-words longer than the input\n"
        f"- {max(run['round'] for run in results['runs'])} round(s), each a process that translates all sentences "
        f"again and again for at least {results['seconds']:.0f} s",
        "The same weights for all, from sub-word ids to sub-word ids; sorting into batches counts, loading does not. "
        "Output tokens are counted with end symbols. Medians over rounds; beside them the lowest and highest. *Workers "
        "x threads* and *batch* (in sentences) are the fastest of those tried. Ratios are to the better of the others "
        "in Python and to CTranslate2 in fp32. *Same* is the share of sentences whose tokens are those of ours: "
        "searches stop by rules of their own.",
        table(results),
        notes.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def table(results: Results) -> str:
    """The contenders."""
    runs = [run for run in results["runs"] if "error" not in run]
    speeds = {
        name: [run["sentences_per_second"] for run in runs if run["contender"] == name]
        for name in results["contenders"]
    }
    python = max((median(speeds[name]) for name in PYTHON_TOOLKITS if speeds.get(name)), default=float("nan"))
    mark = median(speeds["ctranslate2"]) if speeds.get("ctranslate2") else float("nan")
    lines = [
        "| | workers x threads | batch | sentences/s | rounds | tokens/s | to Python | to CTranslate2 | same | MB |",
        "|---|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for name, values in speeds.items():
        own = [run for run in runs if run["contender"] == name]
        if not own:
            lines += [f"| {name} | | | | {_reason(results, name)} | | | | | |"]
            continue
        speed, first = median(values), own[0]
        way = f"{first['workers']} x {first['threads']} | {first['batch'] or 'own rule'}"
        lines += [
            f"| {first['toolkit']} | {way} | {speed:,.0f} "
            f"| {min(values):,.0f} to {max(values):,.0f} | {median(run['tokens_per_second'] for run in own):,.0f} "
            f"| {speed / python:.2f} | {speed / mark:.2f} | {_share(first)} "
            f"| {median(run['peak_mb'] for run in own):,.0f} |"
        ]
    return "\n".join(lines)


def _reason(results: Results, contender: str) -> str:
    every = [*results["trials"], *results["runs"]]
    return next((run["error"] for run in every if run["contender"] == contender and "error" in run), "not run")


def _share(run: dict[str, Any]) -> str:
    return f"{run['same_as_ours']:.1%}" if "same_as_ours" in run else ""


PAGE = Page("translate", report)

if __name__ == "__main__":
    run_main(PAGE.draw_again)
