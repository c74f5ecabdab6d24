"""The stage `report` depends on all the code that writes its pages, so that a changed template reruns it."""

import ast
from pathlib import Path

import yaml

from tests.workspace import ROOT


def imported(path: Path) -> set[Path]:
    """The modules of tasks/ that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    places = (ROOT / name.replace(".", "/") for name in names if name.startswith("tasks."))
    files = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py") for place in places)
    return {file for file in files if file.is_file()}


def code_of(start: Path) -> set[Path]:
    """All modules of tasks/ that are imported from there on."""
    found, new = {start}, {start}
    while new:
        new = {other for path in new for other in imported(path)} - found
        found |= new
    return found


def test_each_module_that_writes_reports_is_a_dependency_of_the_stage() -> None:
    listed = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["report"]["deps"]
    modules = {path.relative_to(ROOT).as_posix() for path in code_of(ROOT / "tasks/report.py")}
    assert len(modules) > 10
    modules -= {"tasks/__init__.py"}
    assert {name for name in modules if not any(name == dep or name.startswith(f"{dep}/") for dep in listed)} == set()
