"""How the reports write tables, settings, times and commits."""

import re
from typing import Any


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in [header, ["---"] * len(header), *rows]]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def literal(text: str) -> str:
    """Text that Markdown shows as it is, on one line; `table` sees to the bars between its cells."""
    return re.sub(r"([\\`*_\[\]<>~&$#])", r"\\\1", " ".join(text.split())) or "(empty)"


def signed(score: dict[str, Any]) -> str:
    """A score and how it was computed, or that it does not apply."""
    if score["score"] is None:
        return str(score["signature"])
    return f"{score['score']:.2f} `{score['signature']}`"


def settings(values: dict[str, Any]) -> str:
    """Names and values on one line."""
    return ", ".join(f"{key} {value}" for key, value in values.items())


def listed(counts: dict[str, int]) -> str:
    """Counts on one line."""
    return ", ".join(f"{n:,} {reason}" for reason, n in counts.items()) or "none"


def duration(seconds: float) -> str:
    """Hours and minutes, or minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def short_commit(commit: str) -> str:
    """Eight digits, and whether there were changes that no commit has."""
    return commit[:8] + ("+changes" if commit.endswith("+changes") else "")
