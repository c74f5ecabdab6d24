"""Imports go one way: flows -> (commands) -> tasks -> transformer; benchmarks use both, and nobody uses them.

Within tasks/ a file is a command, which no other imports, and packages import only packages of earlier FLOORS.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
FORBIDDEN = {
    "transformer": {"tasks", "flows", "benchmarks", "prefect", "dvc", "mlflow"},
    "tasks": {"flows", "benchmarks", "prefect", "dvc"},
    "flows": {"tasks", "transformer", "benchmarks", "torch", "mlflow"},
    "benchmarks": {"flows", "prefect", "dvc", "mlflow"},
}
FLOORS = [
    {"common"},
    {"tracking", "origins", "encoding", "evalb", "results"},
    {"cleaning", "scoring", "figures"},
    {"pages", "export", "layers"},
]
COMMANDS = {"export", "evalb", "layers"}  # packages that are commands too


def imports(path: Path) -> set[str]:
    """The modules that a file imports, by their full names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, f"{path}: a relative import"
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def modules(house: str) -> dict[str, Path]:
    """The modules of a house by their names."""
    paths = (CHECKOUT / house).rglob("*.py")
    return {".".join(path.relative_to(CHECKOUT).with_suffix("").parts): path for path in paths}


@pytest.mark.parametrize("house", FORBIDDEN)
def test_a_house_imports_nothing_from_above_it(house: str) -> None:
    assert len(modules(house)) > 1
    wrong = {
        name: {one.partition(".")[0] for one in imports(path)} & FORBIDDEN[house]
        for name, path in modules(house).items()
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_packages_of_tasks_import_only_packages_below_them() -> None:
    floor = {package: number for number, packages in enumerate(FLOORS) for package in packages}
    wrong = []
    for name, path in modules("tasks").items():
        _, package, *rest = name.split(".")
        for other in {one.split(".")[1] for one in imports(path) if one.startswith("tasks.")} - {package}:
            if rest and floor.get(other, len(FLOORS)) >= floor[package]:
                wrong.append(f"{name} imports tasks.{other}")
            if not rest and other not in floor:
                wrong.append(f"{name} imports the command tasks.{other}")
    assert wrong == []


def test_nothing_imports_a_command_that_is_a_package() -> None:
    for house in FORBIDDEN:
        for name, path in modules(house).items():
            assert not any(one.endswith("__main__") for one in imports(path)), name


def test_what_the_transformer_needs_does_not_need_the_transformer() -> None:
    """The paper needs no package that is made with it; the command, which does, is above both."""
    for path in (CHECKOUT / "transformer").glob("*.py"):
        used = {one.split(".")[1] for one in imports(path) if one.startswith("transformer.")}
        assert path.name == "__main__.py" or not used & {"parsing", "inspect"}, path
    for package, may in (("io", {"io"}), ("text", {"io", "text", "settings"})):
        for path in (CHECKOUT / "transformer" / package).glob("*.py"):
            used = {one.split(".")[1] for one in imports(path) if one.startswith("transformer.")}
            assert used <= may, path


def test_a_file_directly_in_tasks_is_a_command_and_a_package_says_what_it_is_for() -> None:
    for path in (CHECKOUT / "tasks").glob("*.py"):
        assert path.name == "__init__.py" or "\n    run_main(main)\n" in path.read_text(), path
    packages = [path for path in (CHECKOUT / "tasks").iterdir() if (path / "__init__.py").exists()]
    assert {path.name for path in packages} == set().union(*FLOORS)
    for path in packages:
        tree = ast.parse((path / "__init__.py").read_text())
        assert len(tree.body) == 1 and ast.get_docstring(tree), path
        assert (path / "__main__.py").exists() == (path.name in COMMANDS), path


@pytest.mark.parametrize("house", FORBIDDEN)
def test_no_modules_import_each_other_in_a_circle(house: str) -> None:
    known = modules(house)
    TopologicalSorter({name: imports(path) & known.keys() - {name} for name, path in known.items()}).prepare()
