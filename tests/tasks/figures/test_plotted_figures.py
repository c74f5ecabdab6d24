"""Each figure can be drawn, with measurements and without, and dvc.yaml lists what is written."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tasks.figures import FIGURES
from tasks.figures.curves import draw_curves
from tasks.figures.formulas import draw_learning_rates, shown
from tasks.figures.sweeps import draw_averaging, draw_search
from tasks.report import write_reports
from tasks.results import PAPER, PUBLISHED, Results
from tasks.settings import Params
from tests.workspace import PRESETS, ROOT, corpus_settings, experiment_settings

PARAMS = Params.model_validate({
    "corpora": {"c": corpus_settings(Path("text"))},
    "presets": PRESETS,
    "experiments": {"e": experiment_settings("c"), "unrun": experiment_settings("c")},
})  # fmt: skip
NOTHING = Results(
    PARAMS, {}, {}, {}, None, [], yaml.safe_load(PAPER.read_text()), yaml.safe_load(PUBLISHED.read_text())
)


@pytest.mark.parametrize("name", FIGURES)
def test_each_can_be_drawn_before_anything_is_measured(tmp_path: Path, name: str) -> None:
    path = tmp_path / ".tmp"  # whatever the name, as whole_file gives it
    FIGURES[name].draw(NOTHING, path)
    if name.endswith(".svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    else:
        assert path.read_bytes().startswith(b"\x89PNG")
    assert FIGURES[name].title and FIGURES[name].caption.endswith(".")


def test_dvc_knows_what_the_report_writes_and_which_modules_draw_it(tmp_path: Path) -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["report"]
    (tmp_path / "reports/figures").mkdir(parents=True)
    write_reports(NOTHING, tmp_path / "reports")
    (tmp_path / "reports/metrics").rmdir()  # a folder, which is empty as long as nothing is measured
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files | {"reports/metrics"} == {name for entry in stage["outs"] for name in entry}
    assert "tasks/figures" in stage["deps"]


def sweep(*, lowercase: bool = False) -> dict[str, object]:
    own = {"beam": 4, "penalty": "paper", "length_penalty": 0.6}
    bleu = {"bleu": 20.0, **({"bleu_lowercase_tokens": 40.0} if lowercase else {})}
    points = [{"last": last, "perplexity": 9.0 - last, **own, **bleu} for last in (1, 2, 5)]
    search = [
        {**own, "last": 5, "beam": beam, "length_penalty": alpha, **bleu} for beam in (1, 4) for alpha in (0.0, 0.6)
    ]
    return {"averaging": points, "search": search, "own": {"last": 5, "search": own}}


@pytest.mark.parametrize("count", [1, 3])
def test_sweeps_have_a_panel_for_each_experiment(tmp_path: Path, count: int) -> None:
    sweeps = {f"e{number}": sweep(lowercase=number == 1) for number in range(count)}
    sizes = []
    for draw in (draw_averaging, draw_search):
        draw(sweeps, tmp_path / "a.png")
        header = (tmp_path / "a.png").read_bytes()[16:24]
        sizes.append((int.from_bytes(header[:4]), int.from_bytes(header[4:])))
    assert sizes == [(840, 480) if count == 1 else (1260, 960)] * 2


def test_rows_of_table_3_are_one_group_among_the_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    labels: list[str] = []
    monkeypatch.setattr(Axes, "legend", lambda axes: labels.extend(axes.get_legend_handles_labels()[1]))
    curve = [{"update": 10, "perplexity": 9.0}, {"update": 20, "perplexity": 5.0, "valid_perplexity": 6.0}]
    names = ["base", "tiny", "table3-tiny-A1", "table3-tiny-base-seed2", "table3-B1"]
    draw_curves({name: {"training": {"curve": curve}} for name in names}, tmp_path / "a.png")
    assert labels == ["3 rows of Table 3, valid", "base, valid (faint: training)", "tiny, valid (faint: training)"]


def test_the_rates_are_those_of_the_paper_where_it_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.axes import Axes

    assert shown(PARAMS) == ["e"]
    peaks: dict[str, float] = {}
    monkeypatch.setattr(Axes, "plot", lambda axes, x, y, label, **style: peaks.update({label: max(y)}))
    monkeypatch.setattr(Axes, "legend", lambda axes, loc: None)
    draw_learning_rates(PARAMS, tmp_path / "a.png")
    assert peaks == {
        "e: d_model 32, warm-up 100": pytest.approx((32 * 100) ** -0.5, rel=0.05),
        "e, twice the warm-up: d_model 32, warm-up 200": pytest.approx((32 * 200) ** -0.5, rel=0.05),
    }
