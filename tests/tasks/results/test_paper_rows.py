"""The rows of the paper's Table 3 in params.yaml: each changes what the paper changed, and nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
import yaml

from tasks.common.settings import Experiment, read_params
from tasks.common.table3_rows import ROWS
from tasks.pages.table3 import VOCABULARY, VOCABULARY_OF_BIG
from tasks.results.stored import PAPER
from tests.workspace import ROOT
from transformer.model import Transformer, count_parameters
from transformer.settings import ModelSettings

EXPERIMENTS = read_params(ROOT / "params.yaml").experiments
PRINTED = {row["row"]: row for row in yaml.safe_load(PAPER.read_text())["table3"]}
# The one rule by which the rows at laptop size are smaller; what is not named is as printed.
SMALLER = {"layers": 2, "d_model": 4, "d_ff": 4, "d_k": 4, "d_v": 4}
# The paper's matrices of attention have no biases; its early code had, and the row C6 is 53 million with them only.
BIASES_OF_ATTENTION = {"C6": 6 * 3 * 4 * 512}


def rows_of(table: str) -> list[str]:
    return [name for name, experiment in EXPERIMENTS.items() if experiment.table == table]


def changed(experiment: Experiment, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of an experiment, with other settings of the model and the training."""
    fields = experiment.model_dump()
    for key, value in settings.items():
        fields["model" if key in fields["model"] else "training"][key] = value
    return fields


def compared(fields: dict[str, Any]) -> dict[str, Any]:
    """What must be equal. The rest is the seed, what the settings are made of, and what no weight depends on."""
    free = ("snapshot_every", "keep_snapshots", "validate_every", "seed")
    training = {key: value for key, value in fields["training"].items() if key not in free}
    return {"corpus": fields["corpus"], "model": fields["model"], "training": training, "search": fields["search"]}


def model_at_paper_size(row: str) -> ModelSettings:
    return EXPERIMENTS[row if row in ("base", "big") else f"table3-{row}"].model


def parameters(settings: ModelSettings, vocabulary: int) -> int:
    with torch.device("meta"):
        return count_parameters(Transformer(settings, vocabulary))


def test_the_papers_rows_are_all_there() -> None:
    assert list(PRINTED) == ROWS
    assert {name for name in ("base", "big") if name in EXPERIMENTS} == {"base", "big"}
    assert rows_of("table3") == ["base", "big", *(f"table3-{row}" for row in ROWS[1:-1])]
    assert [EXPERIMENTS[name].row for name in rows_of("table3")] == ["base", "big", *ROWS[1:-1]]
    small = [EXPERIMENTS[name] for name in rows_of("table3-tiny")]
    assert [(one.row, one.seed) for one in small] == [(row, seed) for row in ROWS for seed in (1, 2)]
    assert [one.training.seed for one in small] == [one.seed for one in small]


@pytest.mark.parametrize("name", rows_of("table3"))
def test_a_row_changes_only_what_the_paper_changed(name: str) -> None:
    expected = changed(EXPERIMENTS["base"], PRINTED[str(EXPERIMENTS[name].row)]["settings"])
    assert compared(EXPERIMENTS[name].model_dump()) == compared(expected)


def test_base_is_what_the_paper_prints() -> None:
    assert changed(EXPERIMENTS["base"], PRINTED["base"]["settings"]) == EXPERIMENTS["base"].model_dump()


@pytest.mark.parametrize("name", rows_of("table3-tiny"))
def test_a_row_at_laptop_size_has_the_papers_ratios(name: str) -> None:
    row, base = str(EXPERIMENTS[name].row), EXPERIMENTS["table3-tiny-base"]
    settings = {**PRINTED["base"]["settings"], **PRINTED[row]["settings"]}
    settings = {key: value // SMALLER[key] if key in SMALLER else value for key, value in settings.items()}
    settings["updates"] = base.training.updates * settings["updates"] // PRINTED["base"]["settings"]["updates"]
    assert compared(EXPERIMENTS[name].model_dump()) == compared(changed(base, settings))


@pytest.mark.parametrize("name", [name for name in [*rows_of("table3"), *rows_of("table3-tiny")] if "table3" in name])
def test_a_row_averages_nothing_and_has_the_name_of_its_row_and_seed(name: str) -> None:
    row = EXPERIMENTS[name]
    assert row.averaging.last == 1
    assert name == f"{row.table}-{row.row}" + (f"-seed{row.seed}" if row.seed > 1 else "")


@pytest.mark.parametrize("row", [name for name, row in PRINTED.items() if "parameters" in row])
def test_a_row_has_as_many_parameters_as_printed(row: str) -> None:
    count = parameters(model_at_paper_size(row), VOCABULARY_OF_BIG if row == "big" else VOCABULARY)
    assert round((count + BIASES_OF_ATTENTION.get(row, 0)) / 1e6) == PRINTED[row]["parameters"]


def test_rows_of_heads_dropout_and_smoothing_have_bases_parameters_and_learned_positions_a_table_more() -> None:
    base = parameters(model_at_paper_size("base"), VOCABULARY)
    for row in (row for row, printed in PRINTED.items() if "parameters" not in printed):
        more = 1024 * 512 if row == "E1" else 0
        assert parameters(model_at_paper_size(row), VOCABULARY) == base + more
