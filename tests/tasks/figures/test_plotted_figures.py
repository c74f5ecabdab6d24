"""Each figure can be drawn, with measurements and without, and dvc.yaml lists what is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from matplotlib.pyplot import imread

from tasks.common.settings import parse_params, read_params
from tasks.figures.curves import draw_curves
from tasks.figures.formulas import draw_learning_rates, shown
from tasks.figures.gallery import FIGURES
from tasks.figures.sweeps import draw_averaging, draw_search
from tasks.report import write_reports
from tasks.results.stored import PAPER, PUBLISHED, Results
from tests.workspace import PRESETS, ROOT, corpus_settings, experiment_settings

PARAMS = parse_params({
    "corpora": {"c": corpus_settings(Path("text"))},
    "presets": PRESETS, "max_restarts": 1,
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
        assert imread(path).std() > 0.01, "a picture with nothing on it"
    assert FIGURES[name].title and FIGURES[name].caption.endswith(".")


def test_dvc_knows_what_the_report_writes_and_which_modules_draw_it(tmp_path: Path) -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["report"]
    (tmp_path / "reports/figures").mkdir(parents=True)
    write_reports(NOTHING, tmp_path / "reports")
    (tmp_path / "reports/metrics").rmdir()  # a folder, which is empty as long as nothing is measured
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files | {"reports/metrics"} == {name for entry in stage["outs"] for name in entry}
    assert "tasks/figures" in stage["deps"]


TRAINING = {"date": "2026-11-30T10:00:00+00:00", "mlflow_run": "0123456789ab", "made_by": [{"commit": "c0ffee" * 6}]}


def sweep(*, lowercase: bool = False) -> dict[str, Any]:
    """BLEU rises with the weights, the beam and the length penalty; in lower case it is 20 more."""
    own = {"beam": 4, "penalty": "paper", "length_penalty": 0.6}

    def bleu(value: float) -> dict[str, float]:
        return {"bleu": value, **({"bleu_lowercase_tokens": value + 20} if lowercase else {})}

    averaging = [{"last": last, "perplexity": 9.0 - last, **own, **bleu(20.0 + last)} for last in (1, 2, 5)]
    search = [
        {**own, "last": 5, "beam": beam, "length_penalty": alpha, **bleu(20 + beam + alpha)}
        for beam in (1, 4)
        for alpha in (0.0, 0.6)
    ]
    return {"averaging": averaging, "search": search, "own": {"last": 5, "search": own}, "training": TRAINING}


def drawn(draw: Any, results: Results, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of the picture."""
    from matplotlib.figure import Figure

    figures: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: (figures.append(figure), save(figure, *a, **k)))
    draw(results, path)
    return [*figures[0].axes]


def lines(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [([*line.get_xdata()], [*line.get_ydata()]) for line in axes.lines]


@pytest.mark.parametrize("count", [1, 3])
def test_sweeps_have_a_panel_for_each_experiment(tmp_path: Path, count: int) -> None:
    results = replace(NOTHING, sweeps={f"e{number}": sweep() for number in range(count)})
    sizes = []
    for draw in (draw_averaging, draw_search):
        draw(results, tmp_path / "a.png")
        header = (tmp_path / "a.png").read_bytes()[16:24]
        sizes.append((int.from_bytes(header[:4]), int.from_bytes(header[4:])))
    assert sizes == [(840, 480) if count == 1 else (1260, 960)] * 2


@pytest.mark.parametrize("lowercase", [False, True])
def test_bleu_and_perplexity_are_over_the_weights_that_are_averaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lowercase: bool
) -> None:
    results = replace(NOTHING, sweeps={"e": sweep(lowercase=lowercase)})
    left, right = drawn(draw_averaging, results, tmp_path / "a.png", monkeypatch)
    more = 20 if lowercase else 0
    assert (lines(left), lines(right)) == ([([1, 2, 5], [21 + more, 22 + more, 25 + more])], [([1, 2, 5], [8, 7, 4])])
    metric = "BLEU of lower-cased tokens" if lowercase else "sacreBLEU"
    assert (left.get_xlabel(), left.get_ylabel()) == ("weights averaged", f"{metric}, valid (full line)")
    assert right.get_ylabel() == "perplexity, valid (broken line)"
    assert left.get_title() == "e\nMLflow run 01234567, commit c0ffeec0, 2026-11-30"


def test_bleu_is_over_the_length_penalty_with_a_line_for_each_beam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (axes,) = drawn(draw_search, replace(NOTHING, sweeps={"e": sweep()}), tmp_path / "a.png", monkeypatch)
    assert lines(axes) == [([0.0, 0.6], [21.0, 21.6]), ([0.0, 0.6], [24.0, 24.6]), ([0.6], [24.6])]
    assert [line.get_label() for line in axes.lines] == ["beam 1", "beam 4", "as in the scores"]
    assert axes.get_xlabel() == "length penalty: exponent of (5 + |Y|) / 6"
    assert axes.get_ylabel() == "sacreBLEU, valid"


def test_a_sweep_of_another_training_than_the_scores_is_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {name: {"training": {"date": date}} for name, date in (("e", "2026-12-01"), ("f", TRAINING["date"]))}
    results = replace(NOTHING, sweeps={"e": sweep(), "f": sweep()}, scores=scores)
    for draw in (draw_averaging, draw_search):
        old, new, *_ = drawn(draw, results, tmp_path / "a.png", monkeypatch)
        assert [text.get_text() for text in old.texts] == ["sweep@e: of another training than the scores; run it again"]
        assert (len(old.lines), new.get_title()[:2]) == (0, "f\n")
        assert new.lines


def test_rows_of_table_3_are_one_group_among_the_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.axes import Axes

    labels: list[str] = []
    monkeypatch.setattr(Axes, "legend", lambda axes: labels.extend(axes.get_legend_handles_labels()[1]))
    curve = {"training": {"update": [10, 20], "perplexity": [9.0, 5.0]}, "valid": {"update": [20], "perplexity": [6.0]}}
    names = ["base", "tiny", "table3-tiny-A1", "table3-tiny-base-seed2", "table3-B1"]
    scores = {name: {"training": {"curve": curve}} for name in names}
    draw_curves(replace(NOTHING, params=read_params(ROOT / "params.yaml"), scores=scores), tmp_path / "a.png")
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
