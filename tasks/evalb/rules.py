"""Rules of bracket scoring, read from EVALB's parameter files: COLLINS.prm, new.prm and others.

One `KEY value` a line; `#` starts a comment line. The two rule files of this folder say what each key does.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from transformer.io.errors import InputError, did_you_mean

COLLINS = Path(__file__).with_name("collins.prm")

# What EVALB takes for a key that the file does not have.
NUMBERS = {"DEBUG": 0, "MAX_ERROR": 10, "CUTOFF_LEN": 40, "LABELED": 1}
LABELS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL")
PAIRS = ("EQ_LABEL", "EQ_WORD")
ARGUMENTS = {**dict.fromkeys([*NUMBERS, *LABELS], 1), **dict.fromkeys(PAIRS, 2)}


@dataclass(frozen=True)
class Rules:
    """What counts, and what counts as equal.

    labelled: brackets match only where their labels do.
    deleted: a word with such a tag, and a bracket with such a label, does not count.
    deleted_for_length: words with such a tag do not count in a sentence's length.
    quotes: tags of words that may be quotation marks.
    equal_labels, equal_words: pairs, each in both orders.
    cutoff: length in words up to which sentences stand in the second summary.
    max_errors: number of failed sentences at which EVALB stops.
    """

    labelled: bool
    deleted: frozenset[str]
    deleted_for_length: frozenset[str]
    quotes: frozenset[str]
    equal_labels: frozenset[tuple[str, str]]
    equal_words: frozenset[tuple[str, str]]
    cutoff: int
    max_errors: int

    @cached_property
    def deleted_brackets(self) -> frozenset[str]:
        """Labels of brackets that do not count: unlike a tag, a label is deleted by what equals it, too."""
        return self.deleted | {label for label, other in self.equal_labels if other in self.deleted}

    @cached_property
    def paired_labels(self) -> frozenset[str]:
        """Labels that another one equals."""
        return frozenset(label for label, _ in self.equal_labels)

    def same_label(self, one: str, other: str) -> bool:
        """Whether two labels or tags are equal under these rules."""
        return one == other or (one, other) in self.equal_labels

    def same_word(self, one: str, other: str) -> bool:
        """Whether two words are equal under these rules."""
        return one == other or (one, other) in self.equal_words


def read_rules(path: Path) -> Rules:
    """Read a parameter file of EVALB; InputError that names file and line for what EVALB would skip or misread."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; name a rule file of EVALB, such as tasks/evalb/{COLLINS.name}"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8; convert it") from None
    numbers = dict(NUMBERS)
    found: dict[str, set[tuple[str, ...]]] = {key: set() for key in (*LABELS, *PAIRS)}
    for number, line in enumerate(lines, start=1):
        key, *values = line.split() or ["#"]
        if key.startswith("#"):
            continue
        where = f"{path}, line {number}"
        if key not in ARGUMENTS:
            raise InputError(f"{where}: unknown key {key}; {did_you_mean(key, ARGUMENTS)}")
        if len(values) != ARGUMENTS[key]:
            raise InputError(f"{where}: {key} takes {ARGUMENTS[key]} value(s), here are {len(values)}")
        if key in NUMBERS:
            numbers[key] = _number(values[0], f"{where}: {key}")
        else:
            found[key].add(tuple(values))
    deleted, for_length, quotes = (frozenset(label for (label,) in found[key]) for key in LABELS)
    equal_labels, equal_words = (frozenset(order for a, b in found[key] for order in ((a, b), (b, a))) for key in PAIRS)
    return Rules(
        labelled=bool(numbers["LABELED"]),
        deleted=deleted,
        deleted_for_length=for_length,
        quotes=quotes,
        equal_labels=equal_labels,
        equal_words=equal_words,
        cutoff=numbers["CUTOFF_LEN"],
        max_errors=numbers["MAX_ERROR"],
    )


def _number(value: str, what: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise InputError(f"{what} takes a whole number, not {value}") from None
