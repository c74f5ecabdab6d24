"""What is written for readers of the code names what is there: docs/reading.md, and the suffixes of tensors' names."""

import ast
import pkgutil
import re
from pathlib import Path

import pytest

import transformer
from tests.workspace import ROOT

NAMES = re.findall(r"`((?:transformer|tasks)(?:\.\w+)+)`", (ROOT / "docs/reading.md").read_text())
SUFFIX = re.compile(r"[a-z]_([A-Z]+)\d*$")
LETTERS = set(re.findall(r"(?<![\w.])([A-Z])(?= [a-z])", (transformer.__doc__ or "").partition("each letter is")[2]))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_guide_to_the_paper_names_is_there(name: str) -> None:
    assert pkgutil.resolve_name(name)


def test_the_guide_names_every_module_that_is_the_paper() -> None:
    for module in ("model", "dropout", "loss", "schedule", "batches", "trainer", "checkpoints", "kv_cache", "search"):
        assert any(name.startswith(f"transformer.{module}.") for name in NAMES), module


@pytest.mark.parametrize("path", sorted((ROOT / "transformer").rglob("*.py")), ids=lambda path: path.stem)
def test_suffixes_are_of_the_legend(path: Path) -> None:
    tree = ast.parse(path.read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    suffixes = {match[1] for name in names if not name.isupper() and (match := SUFFIX.search(name))}
    assert set().union(*suffixes) <= LETTERS


def test_the_list_of_known_faults_has_each_that_a_test_covers_and_no_other() -> None:
    listed = re.findall(r"^- \*\*(F\d+) ", (ROOT / "tests/faults.md").read_text(), re.M)
    marks = {
        mark for path in (ROOT / "tests").rglob("*.py") for mark in re.findall(r'fault\("(F\d+)"', path.read_text())
    }
    assert sorted(marks) == listed
