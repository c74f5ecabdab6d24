"""The drawing is of the model that is built: other settings, other boxes and numbers."""

from xml.etree import ElementTree

import pytest
import torch

from tasks.common.settings import read_params
from tasks.figures.architecture import drawing, towers
from tests.random_model import SHAPE, VOCABULARY
from tests.workspace import ROOT
from transformer.model import Transformer, count_parameters
from transformer.settings import ModelSettings


def texts(**changes: object) -> list[str]:
    svg = ElementTree.fromstring(drawing("some", ModelSettings(**{**SHAPE, **changes}), VOCABULARY))
    return ["".join(element.itertext()) for element in svg.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("changes", [{}, {"normalisation": "pre"}, {"positions": "learned"}, {"layers": 3, "d_k": 5}])
def test_the_boxes_hold_every_parameter_once(changes: dict[str, object]) -> None:
    with torch.device("meta"):
        model = Transformer(ModelSettings(**{**SHAPE, **changes}), VOCABULARY)
    drawn = sum(
        sum(block.parameters for block in tower.before + tower.after)
        + tower.layers * sum(block.parameters for block in tower.layer)
        for tower in towers(model)
    )
    assert drawn == count_parameters(model)


def test_what_is_set_is_what_is_drawn() -> None:
    before = texts()
    assert "inner.weight 48 × 32, inner.bias 48" in before
    assert "4 heads, d_k 8, d_v 8" in before
    assert any(text.startswith("encoder: 2 × ") for text in before)
    assert before.count("LayerNorm(x + Dropout(Sublayer(x)))") == 5
    after = texts(d_ff=80, heads=2, layers=3, normalisation="pre")
    assert "inner.weight 80 × 32, inner.bias 80" in after
    assert "2 heads, d_k 8, d_v 8" in after
    assert any(text.startswith("decoder: 3 × ") for text in after)
    assert after.count("x + Dropout(Sublayer(LayerNorm(x)))") == 5
    assert "Norm: encoder_norm" in after and "Norm: encoder_norm" not in before


def test_base_is_the_papers_figure_1() -> None:
    """The paper's order of sub-layers, 6 layers in each tower, 65 million parameters as it counts them."""
    base = read_params(ROOT / "params.yaml").experiments["base"].model
    with torch.device("meta"):
        encoder, decoder = towers(Transformer(base, 37_000))
    assert [block.title.partition(":")[0] for block in decoder.layer] == [
        "Masked multi-head attention", "Add & norm", "Multi-head attention", "Add & norm", "Feed-forward", "Add & norm",
    ]  # fmt: skip
    assert (encoder.layers, decoder.layers) == (6, 6)
    assert drawing("base", base, 37_000).count("base: 63,045,632 parameters") == 1
