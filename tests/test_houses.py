"""Imports go one way: flows -> (commands) -> tasks -> transformer; benchmarks use both, and nobody uses them."""

import ast
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
FORBIDDEN = {
    "transformer": {"tasks", "flows", "benchmarks", "prefect", "dvc", "mlflow"},
    "tasks": {"flows", "benchmarks", "prefect", "dvc"},
    "flows": {"tasks", "transformer", "benchmarks", "torch", "mlflow"},
    "benchmarks": {"flows", "prefect", "dvc", "mlflow"},
}


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0] if not node.level else path.parts[-2])
    return found


@pytest.mark.parametrize("house", FORBIDDEN)
def test_a_house_imports_nothing_from_above_it(house: str) -> None:
    modules = list((CHECKOUT / house).rglob("*.py"))
    assert len(modules) > 1
    wrong = {str(path.relative_to(CHECKOUT)): _imports(path) & FORBIDDEN[house] for path in modules}
    assert {path: names for path, names in wrong.items() if names} == {}
