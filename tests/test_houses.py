"""Imports go one way: flows -> (commands) -> tasks -> transformer."""

import ast
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
FORBIDDEN = {
    "transformer": {"tasks", "flows", "prefect", "dvc", "mlflow"},
    "tasks": {"flows", "prefect", "dvc"},
    "flows": {"tasks", "transformer", "torch", "mlflow"},
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
    assert len(modules) > 3
    wrong = {str(path.relative_to(CHECKOUT)): _imports(path) & FORBIDDEN[house] for path in modules}
    assert {path: names for path, names in wrong.items() if names} == {}
