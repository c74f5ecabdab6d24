"""reports/benchmarks/train.md from the runs that benchmarks/train.py has measured.

    python -m benchmarks.train_report        # again, after benchmarks/train_notes.md has changed

reports/benchmarks/train.json  benchmarks/train_notes.md -> reports/benchmarks/train.md
"""

from statistics import median
from typing import Any

from benchmarks.page import Page, Results
from benchmarks.rounds import about
from transformer.io.errors import run_main


def report(results: Results, notes: str) -> str:
    """The whole page: what was measured how, the tables, the notes."""
    same = results["same_for_all"]
    parts = [
        "# Training speed beside other toolkits",
        "Written by `python -m benchmarks.train`; the last section comes from `benchmarks/train_notes.md`.",
        f"{about(results)}\n"
        f"- {results['corpus']}\n"
        f"- batches of about {same['tokens']:,} tokens, by each one's own rule; dropout {same['dropout']}, label "
        f"smoothing {same['label_smoothing']}\n"
        f"- {max(run['round'] for run in results['runs'])} round(s), each a process of at least "
        f"{results['seconds']:.0f} measured seconds",
        "Tokens are target tokens with end symbols and without padding, per second: the median over the steps of a "
        "run, then over rounds; beside it the lowest and highest round. A step lasts from the end of the one before: "
        "making the batch counts. *Ratio* is to the best of the others. *Limit* is the best sustained rate of large "
        "matrix products here in that precision, and the share of it is that of the operations that the real tokens "
        "need, by the rule of `transformer/telemetry/flops.py`. *Padding* is of source and target positions. Memory is "
        "the peak of the process (on a GPU: of the device; of several ranks: their sum).",
        tables(results),
        notes.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def tables(results: Results) -> str:
    """One table for each size and precision."""
    cells = dict.fromkeys((run["size"], run["precision"]) for run in results["runs"])
    return "\n\n".join(table(results, size, precision) for size, precision in cells)


def table(results: Results, size: str, precision: str) -> str:
    """The contenders at one size and precision."""
    runs = [run for run in results["runs"] if (run["size"], run["precision"]) == (size, precision)]
    flops = results["flops_per_token"][size]
    limits = [run["flops_per_second"] for run in runs if run["contender"] == "limit" and "error" not in run]
    limit = median(limits) if limits else float("nan")
    rates = {name: values for name in results["contenders"] if (values := _values(runs, name, "tokens_per_second"))}
    best = max((median(values) for name, values in rates.items() if not _ours(name)), default=float("nan"))
    lines = [
        f"## {size}, {precision}",
        "",
        f"Limit: {limit / 1e9:,.0f} GFLOP/s; at {flops / 1e6:.1f} MFLOP a token that is {limit / flops:,.0f} tokens/s.",
        "",
        "| | tokens/s | rounds | ratio | of the limit | padding % | memory MB |",
        "|---|---:|---|---:|---:|---|---:|",
    ]
    for name in results["contenders"]:
        own = [run for run in runs if run["contender"] == name]
        if name not in rates:
            lines += [f"| {name} | | {own[0]['error'] if own else 'not run'} | | | | |"]
            continue
        rate, low, high = median(rates[name]), min(rates[name]), max(rates[name])
        padding = [f"{100 * median(_values(runs, name, f'{side}_padding')):.1f}" for side in ("source", "target")]
        memory = median(_values(runs, name, "peak_mb"))
        lines += [
            f"| {own[0]['toolkit']} | {rate:,.0f} | {low:,.0f} to {high:,.0f} | {rate / best:.2f} "
            f"| {100 * rate * flops / limit:.0f} % | {' / '.join(padding)} | {memory:,.0f} |"
        ]
    return "\n".join(lines)


def _values(runs: list[dict[str, Any]], contender: str, key: str) -> list[float]:
    return [run[key] for run in runs if run["contender"] == contender and key in run]


def _ours(contender: str) -> bool:
    return contender.startswith("ours")


PAGE = Page("train", report)

if __name__ == "__main__":
    run_main(PAGE.draw_again)
