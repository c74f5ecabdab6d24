"""Which row of the paper's Table 3 an experiment is, told by its name.

base  table3-A1  ...  table3-E1  big                                       as the paper trained them
table3-tiny-base  table3-tiny-A1  ...  table3-tiny-A1-seed2  ...           small ones, with more seeds than one
"""

import re
from dataclasses import dataclass

_GROUPS = {"A": 4, "B": 2, "C": 7, "D": 4, "E": 1}  # letters of the paper's groups, and how many rows each has
ROWS = ["base", *(f"{group}{n}" for group, rows in _GROUPS.items() for n in range(1, rows + 1)), "big"]
TITLES = {"table3": "Table 3", "table3-tiny": "Table 3 at laptop size"}
_NAME = re.compile(rf"(?:(table3(?:-tiny)?)-)?({'|'.join(ROWS)})(?:-seed(\d+))?")


@dataclass(frozen=True)
class Row:
    """A training of a row: the table it belongs to (a key of TITLES), the row's name, and the seed."""

    table: str
    row: str
    seed: int


def parse_name(experiment: str) -> Row | None:
    """The row that an experiment is, or None if it is none of Table 3."""
    match = _NAME.fullmatch(experiment)
    if not match or (match[1] is None and match[2] not in ("base", "big")):
        return None
    return Row(match[1] or "table3", match[2], int(match[3] or 1))
