"""This process's place among those that train together, as torchrun says it in the environment."""

import os
from typing import NamedTuple

from transformer.io.errors import InputError


class Place(NamedTuple):
    """How many processes there are on all machines and on this one, and which this is, from 0."""

    ranks: int = 1
    rank: int = 0
    local_ranks: int = 1
    local_rank: int = 0


def read_place() -> Place:
    """The place; that of a process alone, whatever else is set, unless WORLD_SIZE says that there are others.

    InputError if WORLD_SIZE is set, as it is in the jobs of some clusters, and the rest of what torchrun sets is not.
    """
    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks == "1":
        return Place()
    given = {name: os.environ.get(name, "") for name in ("WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK")}
    for name, value in given.items():
        if not value.isdecimal():
            raise InputError(
                f"the environment has WORLD_SIZE={ranks}, and {name} is {repr(value) if value else 'not set'}: start "
                "this with torchrun, which sets both, or unset WORLD_SIZE"
            )
    return Place(*map(int, given.values()))
