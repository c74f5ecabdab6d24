"""What must hold of lists of sentences before anything is counted on them."""

from collections.abc import Sequence

from transformer.errors import InputError


def check_counts(**sides: Sequence[object]) -> None:
    """InputError that names all counts if they are not the same, or nothing is there.

    A library would cut to the shortest, and a mean over nothing is no number.
    """
    counts = {name: len(lines) for name, lines in sides.items()}
    told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    if len(set(counts.values())) > 1:
        raise InputError(f"different numbers of lines: {told}")
    if not all(counts.values()):
        raise InputError(f"nothing to count: {told}")
