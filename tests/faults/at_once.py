"""Start the command twice at the same moment in one folder."""

import random
import time

from tests.faults.part import Part
from tests.faults.pipeline import Pipeline, clear, different, results, start

TITLE = "Two at the same moment in one folder"
MOST_SECONDS_BETWEEN = 3.0


def at_once(pipeline: Pipeline, times: int, seed: int) -> Part:
    """So often; both end well or one in a line, and what is there then is what one run makes."""
    part = Part.read(pipeline.folder, "at_once", TITLE)
    expected, _ = pipeline.undisturbed()
    part.done = (
        "The command is started twice in a project in which nothing has been made, the second time at once or up to "
        f"{MOST_SECONDS_BETWEEN:.0f} s later. Both must end well, or one of them in one line."
    )
    part.head = ["time", "seconds between", "exit codes", "results", "last line of what failed"]
    for number in range(len(part.rows) + 1, times + 1):
        between = 0.0 if number == 1 else random.Random(f"{seed} {number}").uniform(0, MOST_SECONDS_BETWEEN)
        project = pipeline.fresh("twice")
        first = start(pipeline.command, project)
        time.sleep(between)
        both = [job.end() for job in (first, start(pipeline.command, project))]
        clear(str(project))
        wrong = different(expected, results(project))
        failed = [ended for ended in both if ended.code]
        if wrong:
            part.faults.append(f"time {number}: different: {', '.join(wrong)}")
        if len(failed) == 2 or any("Traceback" in ended.said for ended in failed):
            part.faults.append(f"time {number}: {'; '.join(ended.line for ended in failed)}")
        codes = ", ".join(str(ended.code) for ended in both)
        same = "different" if wrong else "the same"
        part.rows.append([number, f"{between:.1f}", codes, same, "; ".join(ended.line for ended in failed)])
        part.count("times")
        pipeline.say(f"at once, {number}: exit codes {codes}, results {same}")
        part.write(pipeline.folder)
    part.complete = True
    part.write(pipeline.folder)
    return part
