"""Checks before any work, and tells DVC about files that are not in this folder.

    python -m tasks.check [EXPERIMENT ...]      # names, or shell patterns of names

in:   params.yaml, and the user's own files that it names (parallel text, trees, or a folder in the hub's layout)
out:  data/sources/C.json    for each corpus C of the experiments: names, sizes and hashes of these files

The stage corpus@C depends on data/sources/C.json, so that it runs again when the user's files change, wherever they
are; no path of this machine is in it. With no experiment named, the files of every corpus are looked at, and what is
missing is no error: data/sources/C.json then says so, unless it has seen the files before.
"""

import argparse

from tasks.origins.fingerprints import check
from transformer.io.errors import run_main


def main() -> None:
    """Check for the experiments named on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help="a key of `experiments` in params.yaml, or a pattern"
    )
    check(parser.parse_args().experiments)


if __name__ == "__main__":
    run_main(main)
