"""Do faults to a small pipeline and write down what came of each: reports/faults.md.

    python -m tests.faults                                      # all of it: two hours on two cores
    python -m tests.faults --only kills --kills 10 --seed 7     # one part
    python -m tests.faults --only trainings --kills 200         # a single training, killed every second

Parts: trainings, kills, at_once, places, flips. Each keeps what it has found in the folder and goes on from there when
it is started again at the same commit; the page has what the folder has. Exit code 1 if there was a fault.
"""

import argparse
import secrets
import sys
from pathlib import Path

from tests.faults.at_once import at_once
from tests.faults.flips import flips
from tests.faults.kills import kills
from tests.faults.part import Part
from tests.faults.pipeline import Pipeline
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
    seed = _seed(folder, arguments.seed)
    pipeline = Pipeline(folder, until=arguments.until)
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
    found = [Part(**read_json(path)) for name in PARTS if (path := folder / f"{name}.json").exists()]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    text = report(found, seed).replace(f"{folder}/", "")  # where the project lies is nobody's business
    with whole_file(arguments.out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{arguments.out}: {sum(len(part.faults) for part in found)} faults")
    if any(part.faults for part in found):
        sys.exit(1)


def _seed(folder: Path, asked: int | None) -> int:
    """The seed of all that is drawn for a folder; InputError if another one is asked for than it was begun with."""
    record = folder / "seed.json"
    if not record.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(record, secrets.randbelow(10**6) if asked is None else asked)
    seed: int = read_json(record)
    if asked not in (None, seed):
        raise InputError(f"{folder}: begun with seed {seed}: delete it to begin anew")
    return seed


if __name__ == "__main__":
    run_main(main)
