"""Which stages run side by side, and which share of the machine each has.

A training, and whatever reads from it, takes one of N slots: 1, unless REPRODUCE_SIDE_BY_SIDE says another number. A
slot that falls free goes to the stage with the longest road behind it, so that what is trained is scored before the
next training begins. Stages that need no training need no slot: as many of them run as the machine has cores.
"""

import os
import subprocess

from flows.errors import BadInput

VARIABLE = "REPRODUCE_SIDE_BY_SIDE"


class Slots:
    """Tells what may start now; to be told what has ended."""

    def __init__(self, stages: dict[str, list[str]], in_slots: set[str], slots: int) -> None:
        """The stages that are to run with those that each reads from, in an order in which they can run."""
        self.waits_for = {name: {one for one in inputs if one in stages} for name, inputs in stages.items()}
        self.in_slots = in_slots
        self.free, self.places = list(range(slots)), max(slots, cores())
        self.running: dict[str, int | None] = {}
        """What was started and has not ended, with its slot."""
        self.depth: dict[str, int] = {}
        for name, inputs in stages.items():
            self.depth[name] = 1 + max((self.depth.get(one, 0) for one in inputs), default=0)

    def start(self) -> list[str]:
        """The stages to be started now; they count as running."""
        ready = [name for name, inputs in self.waits_for.items() if not inputs]
        started = []
        for name in sorted(ready, key=lambda name: -self.depth[name]):  # else in the order given
            if name in self.in_slots and self.free:
                self.running[name] = self.free.pop(0)
            elif name not in self.in_slots and list(self.running.values()).count(None) < self.places:
                self.running[name] = None
            else:
                continue
            del self.waits_for[name]
            started.append(name)
        return started

    def end(self, name: str, done: bool) -> None:
        """A running stage has ended; if it is not `done`, those that read from it never start."""
        slot = self.running.pop(name)
        if slot is not None:
            self.free.append(slot)
        if done:
            for inputs in self.waits_for.values():
                inputs.discard(name)


def number_of_slots() -> int:
    """How many trainings run side by side. BadInput if the environment has no such number."""
    value = os.environ.get(VARIABLE, "1")
    if not value.isdecimal() or int(value) == 0:
        raise BadInput(f"{VARIABLE}={value}: not a number of trainings; set it to 1, 2, ...")
    return int(value)


def share(slot: int, slots: int) -> dict[str, str]:
    """The environment of what runs in this slot: nothing if there is one slot only, else its cores and its GPUs.

    What the user has set stays: OMP_NUM_THREADS, and PET_NPROC_PER_NODE, which otherwise is the number of GPUs.
    """
    if slots == 1:
        return {}
    found = gpus()
    first = slot * len(found) // slots
    mine = found[first : max(first + 1, (slot + 1) * len(found) // slots)]
    ranks = os.environ.get("PET_NPROC_PER_NODE", str(max(1, len(mine))))
    threads = cores() // slots // int(ranks) if ranks.isdecimal() and int(ranks) else 1
    given = {"OMP_NUM_THREADS": str(max(1, threads)), "PET_NPROC_PER_NODE": ranks} | os.environ
    chosen = {name: given[name] for name in ("OMP_NUM_THREADS", "PET_NPROC_PER_NODE")}
    return chosen | ({"CUDA_VISIBLE_DEVICES": ",".join(mine)} if mine else {})


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> list[str]:
    """The names of this machine's NVIDIA GPUs for CUDA_VISIBLE_DEVICES; of those in that variable, if it is set."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [str(number) for number, line in enumerate(listed.stdout.splitlines()) if line.startswith("GPU ")]
