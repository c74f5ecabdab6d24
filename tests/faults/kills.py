"""Kill anything of the pipeline at random moments, start the same command again, and compare what it ends with."""

import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from itertools import chain
from pathlib import Path

import psutil

from flows.processes import marked
from tests.faults.part import Part
from tests.faults.pipeline import (
    LONGEST,
    MARK,
    Job,
    Pipeline,
    clear,
    different,
    done_stages,
    kind,
    results,
    start,
    still_running,
    unfinished,
)

TITLE = "Kills at random moments"
SHARE_OF_TERM = 0.2  # of the kills; the others are SIGKILL
LATER = 1.1  # a moment is drawn from the time that is left in an undisturbed run, and a little beyond
LONGEST_LIFE = 1 / 4  # of that run: so many kills hit one start of the command, which takes a good part of the time
TO_END = 120.0  # seconds in which what has been told to end is gone
TRIES = 5  # of a command that nothing happens to, in a row


class Stuck(Exception):
    """It failed again and again though nothing happened to it, or did not end."""


def kills(pipeline: Pipeline, count: int, seed: int) -> Part:
    """So many kills, in as many rounds as that takes; each begins with nothing and ends with all results."""
    part = Part.read(pipeline.folder, "kills", TITLE)
    expected, times = pipeline.undisturbed()
    part.done = (
        "Everything that the command has started is looked at, one kind is drawn (or all of it, as in a power cut), "
        f"and one process of it is killed: {SHARE_OF_TERM:.0%} of the kills are SIGTERM, the others SIGKILL. If the "
        "command is gone then, it is started again at once, beside what outlived it. Moments are drawn from the time "
        f"that the rest takes undisturbed, up to {LONGEST_LIFE:.0%} of the whole ({times['end']:.0f} s). At its end a "
        "round's results are compared with those of the undisturbed run, by their SHA-256; times, dates, names of runs "
        "and machines do not count."
    )
    part.head = ["kill", "second", "stage", "killed", "signal"]
    part.more_head = ["after kill", "ended with", "last line"]
    while part.facts.get("kills", 0) < count:
        part.count("rounds")
        draw = random.Random(f"{seed} {part.facts['rounds']}")
        project = pipeline.fresh("killed")
        try:
            _round(pipeline, part, project, times, count, draw)
        except Stuck as stuck:
            kept = pipeline.folder / f"stuck-{part.facts['rounds']}"
            clear(str(project))
            project.rename(kept)
            part.faults.append(f"round {part.facts['rounds']}: {stuck}; kept as {kept.name}")
        else:
            if wrong := different(expected, results(project)):
                kept = pipeline.copy("killed", f"different-{part.facts['rounds']}").name
                part.faults.append(f"round {part.facts['rounds']}: different: {', '.join(wrong)}; kept as {kept}")
            else:
                part.count("rounds with the same results")
            if left := still_running(str(project), TO_END):
                part.faults.append(f"round {part.facts['rounds']}: still running at its end: {', '.join(left)}")
            for path in unfinished(project):
                part.count("files that killed processes left beside results")
                pipeline.say(f"left behind: {path}")
        finally:
            clear(str(project))
        part.write(pipeline.folder)
    part.complete = True
    part.write(pipeline.folder)
    return part


def _round(
    pipeline: Pipeline, part: Part, project: Path, times: dict[str, float], count: int, draw: random.Random
) -> None:
    """Kill until there were enough kills or the pipeline is done, which it is at the end; Stuck if it never is."""
    job = start(pipeline.command, project)
    failed, since = 0, time.monotonic()
    while True:
        more = part.facts.get("kills", 0) < count
        try:
            longest = LATER * min(_left(project, times), LONGEST_LIFE * times["end"])
            ended = job.end(draw.uniform(0, longest) if more else LONGEST)
        except subprocess.TimeoutExpired:
            if not more:
                raise Stuck(f"did not end in {LONGEST:.0f} s") from None
            failed = 0
            if not _strike(pipeline, part, job, time.monotonic() - since, draw):
                continue
        else:
            if ended.code == 0:
                return
            failed += 1
            last = part.facts.get("kills", 0)
            part.more.append([last, ended.code, ended.line])
            part.count("restarts that ended with an error by themselves")
            pipeline.say(f"ended with {ended.code}: {ended.line}")
            if failed == TRIES:
                raise Stuck(f"{TRIES} times in a row it ended with {ended.code}: {ended.line}")
        job.log.unlink()
        job = start(pipeline.command, project)


def _left(project: Path, times: dict[str, float]) -> float:
    """Seconds that the rest takes undisturbed, with the start of the command."""
    done = {f"stage {name.partition('@')[0]}" for name in done_stages(project)}
    begins = {name: second for name, second in times.items() if name not in ("stage check", "end")}
    coming = [second for name, second in begins.items() if name not in done]
    return min(begins.values()) + times["end"] - min(coming, default=times["end"])


def _strike(pipeline: Pipeline, part: Part, job: Job, second: float, draw: random.Random) -> bool:
    """Kill something of what the command has started; whether the command itself is gone by that."""
    there: dict[str, list[psutil.Process]] = {}
    for process in marked(MARK, job.mark):
        there.setdefault(kind(process), []).append(process)
    if not there:
        return False
    stages = sorted(name.removeprefix("stage ") for name in there if name.startswith("stage "))
    stage = "train" if "rank" in there or "torchrun" in there else ", ".join(stages) or "between stages"
    whom = draw.choice(["all", *sorted(there)])
    number = signal.SIGTERM if draw.random() < SHARE_OF_TERM else signal.SIGKILL
    victims = [*chain(*there.values())] if whom == "all" else [draw.choice(there[whom])]
    for process in victims:
        with suppress(psutil.Error):
            process.send_signal(number)
    part.count("kills")
    part.rows.append([part.facts["kills"], round(second), stage, whom, number.name])
    part.write(pipeline.folder)
    pipeline.say(f"kill {part.facts['kills']}: {whom} with {number.name} in {stage}")
    if job.process.pid not in [process.pid for process in victims]:
        return False
    try:
        job.process.wait(TO_END)
    except subprocess.TimeoutExpired:
        part.faults.append(f"kill {part.facts['kills']}: {whom} did not end within {TO_END:.0f} s of {number.name}")
        job.process.kill()
        job.process.wait()
    return True


def summed_up(part: Part) -> tuple[list[str], list[list[str]]]:
    """Of the kills a table: what was killed, in which stage."""
    counts = Counter((row[2], row[3]) for row in part.rows)
    stages, whom = (list(dict.fromkeys(sorted(row[i] for row in part.rows))) for i in (2, 3))
    table = [[one, *(str(counts[stage, one] or "") for stage in stages)] for one in whom]
    total = ["sum", *(str(sum(counts[stage, one] for one in whom)) for stage in stages)]
    return ["killed", *stages], [*table, total]
