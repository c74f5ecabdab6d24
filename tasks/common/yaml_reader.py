"""Reads YAML of which our parser and DVC's make the same, and says where they would not.

DVC reads params.yaml with ruamel.yaml, which follows YAML 1.2; PyYAML, in a tenth of the time, follows 1.1. To one,
`02400` is 2400 and `1e3` a number, to the other 1280 and a text: a stage would run with other settings than DVC notes.
"""

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from transformer.io.errors import InputError

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # where PyYAML was built without its library in C
    from yaml import SafeLoader  # type: ignore[assignment]

MERGE = "tag:yaml.org,2002:merge"


class _Unambiguous(SafeLoader):
    """YAML in which no mapping has a key twice (the first would be lost in silence) or merges several others at once.

    Of several, this parser lets another one win than DVC's does.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        for key, value in node.value:
            if key.tag == MERGE and isinstance(value, yaml.SequenceNode):
                line = key.start_mark.line + 1
                raise InputError(f"params.yaml, line {line}: `<<` takes one section, not a list; write the others out")
        written = [key for key, _ in node.value if key.tag != MERGE]
        values = [key.value for key in written]
        for key in written:
            if isinstance(key.value, str) and values.count(key.value) > 1:
                line = key.start_mark.line + 1
                raise InputError(f"params.yaml, line {line}: {key.value!r} stands twice in one section; rename one")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; InputError, with the line, for what is ambiguous or read otherwise by DVC."""
    try:
        loader = _Unambiguous(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        plain = {text: place for text, *place in reversed(list(_plain(node, "", set())))}
        content = loader.construct_document(node) if node else None
        listing = "".join(f"- {text}\n" for text in plain)
        both = yaml.load(listing, SafeLoader) or [], YAML(typ="safe").load(listing) or []
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run this from the project's folder") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    except (yaml.YAMLError, YAMLError, ValueError) as error:  # a date with a month 13 is a ValueError
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    for (text, (key, line)), ours, theirs in zip(plain.items(), *both, strict=True):
        if repr(ours) != repr(theirs):
            raise InputError(
                f"{path}, line {line}: {key}: {text} is {ours!r} by the rules of YAML 1.1 and {theirs!r} by those of "
                "1.2, as DVC reads it: write a number in plain digits, true or false, or a text in quotes"
            )
    return content


def _plain(node: yaml.Node | None, key: str, seen: set[int]) -> Iterator[tuple[str, str, int]]:
    """What stands without quotes, of which a parser decides what it is: the text, the key it is under, and its line.

    A text of several lines is a text to every parser, and is left out.
    """
    if node is None or id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        if not node.style and "\n" not in node.value:
            yield node.value, key, node.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _plain(child, key, seen)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            below = f"{key}.{name.value}".lstrip(".")
            if name.tag != MERGE:
                yield from _plain(name, below, seen)
            yield from _plain(value, below, seen)
