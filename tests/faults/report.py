"""The page of what was tried and what came of it."""

from typing import Any

from tasks.common.markdown import literal, short_commit, table
from tests.faults.kills import summed_up
from tests.faults.part import Part


def report(parts: list[Part], seed: int) -> str:
    """Markdown."""
    count = sum(len(part.faults) for part in parts)
    rows = [
        [part.title, _facts(part), str(len(part.faults)), f"`{short_commit(part.commit)}`", part.date, part.machine]
        for part in parts
    ]
    head = [
        "# Faults done on purpose",
        f"Written by `python -m tests.faults` (seed {seed}); not edited. What it does is in `tests/faults/`. A small "
        "corpus and model go through the whole pipeline while things happen to it. What must not be is called a fault "
        f"below: there {'is 1' if count == 1 else f'are {count}'}.",
        table(["what", "counted", "faults", "commit", "begun", "machine"], rows),
    ]
    return "\n\n".join([*head, *(_section(part) for part in parts)]) + "\n"


def _facts(part: Part) -> str:
    return "; ".join(f"{number} {fact}" for fact, number in part.facts.items()) + (
        "" if part.complete else " (unfinished)"
    )


def _section(part: Part) -> str:
    texts = [f"## {part.title}", part.done]
    texts.append(
        "No faults." if not part.faults else "Faults:\n\n" + "\n".join(f"- {literal(one)}" for one in part.faults)
    )
    if part.name == "kills":
        texts.append(table(*summed_up(part)))
    elif part.rows:
        texts.append(_table(part.head, part.rows))
    if part.more:
        texts += [f"{part.title}, those that ended with an error by themselves:", _table(part.more_head, part.more)]
    return "\n\n".join(texts)


def _table(head: list[str], rows: list[list[Any]]) -> str:
    return table(head, [[literal(str(cell)) if str(cell) else "" for cell in row] for row in rows])
