"""reports/benchmarks/data.md from the runs that benchmarks/data.py has measured.

    python -m benchmarks.data_report        # again, after benchmarks/data_notes.md has changed

reports/benchmarks/data.json  benchmarks/data_notes.md -> reports/benchmarks/data.md
"""

from statistics import median

from benchmarks import made_up_text
from benchmarks.page import Page, Results
from benchmarks.rounds import about
from transformer.io.errors import run_main


def report(results: Results, notes: str) -> str:
    """The whole page: the tables, what was measured how, the notes."""
    parts = [
        "# From raw text to shards: speed and memory",
        "Written by `python -m benchmarks.data`; the last section comes from `benchmarks/data_notes.md`.",
        tables(results),
        notes.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def tables(results: Results) -> str:
    """What there is of both parts."""
    parts = sorted(results.items(), key=lambda item: item[1]["text"]["pairs"])
    roads = {name: part for name, part in parts if part["kind"] == "road"}
    others = [part for _, part in parts if part["kind"] == "others"]
    texts = {part["text"]["pairs"]: part["text"] for _, part in parts}
    sections = [road_section(roads)] if roads else []
    return "\n\n".join([*sections, *map(others_section, others), text_section(list(texts.values()))])


def text_section(texts: list[Results]) -> str:
    """The text, and the real one that it is made from."""
    laws = [f"{code}: {law['scale']:.2f} n^{law['exponent']:.3f}" for code, law in _laws(texts[0])]
    return (
        "## The text\n\n"
        "Made by `benchmarks/made_up_text.py`. Words are what spaces part. So many distinct ones in n are wanted by "
        f"Heaps' law, fitted to the real lines ({'; '.join(laws)}).\n\n{made_up_text.table(texts)}"
    )


def _laws(text: Results) -> list[tuple[str, dict[str, float]]]:
    return [(code, side["growth"]) for code, side in text["languages"].items()]


def road_section(roads: dict[str, Results]) -> str:
    """A row for each size."""
    stages = list(dict.fromkeys(run["step"] for part in roads.values() for run in part["runs"]))
    columns = [f"{stage}: {unit}" for unit in ("s", "MB") for stage in stages]
    lines = [
        "## The whole road",
        "",
        "Seconds of each stage's command, start of Python included, and the most memory that it held at one time with "
        "all its processes (pages that several share count once). *Pairs/s* are raw pairs over the sum of the stages.",
        "",
        f"| | seconds | pairs/s | {' | '.join(columns)} | pairs left | sub-words a pair |",
        f"|---|{'---:|' * (4 + len(columns))}",
        *(_road_row(name, part, stages) for name, part in roads.items()),
    ]
    for name, part in roads.items():
        lines += ["", f"{name}:", "", about(part)]
    return "\n".join(lines)


def _road_row(name: str, part: Results, stages: list[str]) -> str:
    runs = {run["step"]: run for run in part["runs"]}
    if errors := [f"{stage}: {run['error']}" for stage, run in runs.items() if "error" in run]:
        return f"| {name} | {errors[0]} |{' |' * (3 + 2 * len(stages))}"
    seconds = sum(run["seconds"] for run in runs.values())
    cells = [f"{runs[stage][key]:,.0f}" for key in ("seconds", "peak_mb") for stage in stages]
    return (
        f"| {name} | {seconds:,.0f} | {part['text']['pairs'] / seconds:,.0f} | {' | '.join(cells)} "
        f"| {part['made']['pairs']:,} | {part['made']['subwords'] / part['made']['pairs']:.1f} |"
    )


def others_section(part: Results) -> str:
    """A row for each contender."""
    pairs, runs = part["text"]["pairs"], [run for run in part["runs"] if "error" not in run]
    rates = {name: [pairs / _seconds(run) for run in runs if run["contender"] == name] for name in part["contenders"]}
    best = max((median(rate) for name, rate in rates.items() if rate and name != "ours"), default=float("nan"))
    lines = [
        "## Beside others",
        "",
        f"{about(part)}\n- {pairs:,} pairs, {max(run['round'] for run in part['runs'])} round(s)",
        "",
        "From the same raw files, with the same sub-words, learned before, to what the toolkit trains on. Ours cleans "
        "the text first, the others do not; its second row is without that stage. Medians over rounds, beside them the "
        "lowest and highest; *ratio* is to the faster of the others.",
        "",
        "| | pairs/s | rounds | ratio | seconds | CPU seconds | memory MB | million sub-words |",
        "|---|---:|---|---:|---|---|---:|---:|",
    ]
    for name, rate in rates.items():
        own = [run for run in runs if run["contender"] == name]
        if not own:
            failed = [run["error"] for run in part["runs"] if run["contender"] == name]
            lines += [f"| {name} | | {failed[0] if failed else 'not run'} | | | | | |"]
            continue
        lines += [_others_row(_title(name, own[0]), rate, best, own)]
        if name == "ours":
            alone = [run | {"steps": {"shards": run["steps"]["shards"]}} for run in own]
            lines += [_others_row("ours, `shards` alone", [pairs / _seconds(run) for run in alone], best, alone)]
    return "\n".join(lines)


def _others_row(title: str, rates: list[float], best: float, own: list[Results]) -> str:
    steps = {
        key: " + ".join(f"{median(run['steps'][step][key] for run in own):,.1f}" for step in own[0]["steps"])
        for key in ("seconds", "cpu_seconds")
    }
    memory = median(max(step["peak_mb"] for step in run["steps"].values()) for run in own)
    return (
        f"| {title} | {median(rates):,.0f} | {min(rates):,.0f} to {max(rates):,.0f} | {median(rates) / best:.2f} "
        f"| {steps['seconds']} | {steps['cpu_seconds']} | {memory:,.0f} | {own[0]['subwords'] / 1e6:.2f} |"
    )


def _title(name: str, run: Results) -> str:
    return f"{run['toolkit']}: {' + '.join(run['steps'])}"


def _seconds(run: Results) -> float:
    return float(sum(step["seconds"] for step in run["steps"].values()))


PAGE = Page("data", report)

if __name__ == "__main__":
    run_main(PAGE.draw_again)
