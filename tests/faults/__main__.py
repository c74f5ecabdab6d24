"""Do faults to a small pipeline and write down what came of each: reports/faults.md.

    python -m tests.faults                                      # all of it: two hours on two cores
    python -m tests.faults --only kills --kills 10 --seed 7     # one part
    python -m tests.faults --only trainings --kills 200         # a single training, killed every second

Parts: trainings, kills, at_once, places, flips. Each keeps what it has found in the folder and goes on from there when
it is started again, until the code changes; the page has what the folder has. Exit code 1 if there was a fault.
"""

import argparse
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.common.machine import commit, describe
from tests.faults.at_once import at_once
from tests.faults.flips import flips
from tests.faults.kills import kills
from tests.faults.part import Part
from tests.faults.pipeline import Pipeline, processors
from tests.faults.places import places
from tests.faults.report import report
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, whole_file, write_json

PARTS = ("trainings", "kills", "at_once", "places", "flips")


def main() -> None:
    """Do the parts that are asked for, then write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts")
    parser.add_argument(
        "--kills", type=int, default=100, help="of the pipeline, and of trainings (default: %(default)s)"
    )
    parser.add_argument(
        "--times", type=int, default=1, help="flips of each kind, pairs, rooms on the disk (default: 1)"
    )
    parser.add_argument("--seed", type=int, help="of all that is drawn; drawn if not given")
    parser.add_argument("--until", metavar="STAGE", help="a shorter pipeline, up to this stage")
    parser.add_argument("--folder", type=Path, default=Path(".benchmarks/faults"), help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("reports/faults.md"), help="the page (default: %(default)s)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    about = _begun(folder, arguments.seed)
    pipeline = Pipeline(folder, until=arguments.until)
    seed = about["seed"]
    for name in arguments.only:
        if name == "trainings":
            from tests.faults.trainings import trainings  # loads torch

            trainings(folder, arguments.kills, seed)
        elif name == "kills":
            kills(pipeline, arguments.kills, seed)
        elif name == "at_once":
            at_once(pipeline, arguments.times, seed)
        elif name == "flips":
            flips(pipeline, arguments.times, seed)
        else:
            places(pipeline, arguments.times, seed)
    found = [Part.read(folder, name, "") for name in PARTS if (folder / f"{name}.json").exists()]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    text = report(found, about).replace(f"{folder}/", "")  # where the project lies is nobody's business
    with whole_file(arguments.out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {sum(len(part.faults) for part in found)} faults")
    if any(part.faults for part in found):
        sys.exit(1)


def _begun(folder: Path, seed: int | None) -> dict[str, Any]:
    """What the folder's parts have in common; InputError if other code or another seed began them."""
    record = folder / "begun.json"
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        machine = f"{describe(devices=1)['device']}, {processors()}"
        date = datetime.now(UTC).isoformat(timespec="minutes")
        seed = secrets.randbelow(10**6) if seed is None else seed
        write_json(record, {"seed": seed, "commit": commit(), "date": date, "machine": machine})
    about: dict[str, Any] = read_json(record)
    if about["commit"] != commit() or seed not in (None, about["seed"]):
        raise InputError(
            f"{folder}: begun at commit {about['commit']} with seed {about['seed']}: delete it to begin anew"
        )
    return about


if __name__ == "__main__":
    run_main(main)
