"""dvc.yaml lists for each stage the settings that its code reads, no more and no less."""

import ast

import pytest
import yaml

from tests.workspace import ROOT

STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
READERS = {
    "read_corpus": "corpora", "read_experiment": "experiments", "read_sweep": "sweeps", "read_attention": "attention",
}  # fmt: skip


def parameters(kind: str, section: str) -> list[str]:
    """Where params.yaml has a section of an experiment, or of another entry."""
    own = f"{kind}.${{key}}"
    if kind != "experiments":
        return [f"{own}.{section}"]
    preset = f"presets.${{item.preset}}.{section}"
    return {
        "preset": [],  # its name is part of the names of what is read of it
        "model": [preset, f"{own}.changes"],
        "training": [preset, f"{own}.changes", f"{own}.seed"],
        "averaging": [preset],
        "search": [preset],
    }.get(section, [f"{own}.{section}"])


def sections_read(stage: str) -> set[str]:
    """The sections named in calls of such functions in a stage's module, as dvc.yaml names them."""
    tree = ast.parse((ROOT / f"tasks/{stage}.py").read_text())
    constants = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (kind := READERS.get(getattr(call.func, "id", ""))):
            for argument in call.args[1:]:
                if isinstance(argument, ast.Starred):
                    sections = constants[argument.value.id]  # type: ignore[attr-defined]
                else:
                    sections = [ast.literal_eval(argument)]
                found.update(name for section in sections for name in parameters(kind, section))
    return found


@pytest.mark.fault("F36")
@pytest.mark.parametrize("stage", [name for name, entry in STAGES.items() if "foreach" in entry])
def test_the_settings_a_stage_reads_are_those_it_depends_on(stage: str) -> None:
    assert sections_read(stage) == set(STAGES[stage]["do"]["params"])


def test_each_stage_is_a_command() -> None:
    places = {name: (ROOT / f"tasks/{name}.py", ROOT / f"tasks/{name}/__main__.py") for name in STAGES}
    assert [name for name, paths in places.items() if not any(path.is_file() for path in paths)] == []
