"""The architecture (the paper's Figure 1), drawn from the modules of the real model: names, shapes, parameters."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from tasks.common.settings import Params
from tasks.figures.formulas import shown
from tasks.figures.svg import document, element, line, text
from transformer.model import Attention, FeedForward, Residual, Transformer, count_parameters
from transformer.settings import ModelSettings


@dataclass
class Block:
    """A box of the drawing. `parameters` is its number of trained ones, 0 where another box counts them already."""

    title: str
    lines: list[str]
    parameters: int
    fill: str


@dataclass
class Tower:
    """Encoder or decoder, from bottom to top: what is before, in and after its layers."""

    name: str
    before: list[Block]
    layers: int
    layer: list[Block]
    after: list[Block]


def draw_architecture(params: Params, path: Path) -> None:
    """The first of the paper's models that is in params.yaml, or the first experiment."""
    name = shown(params)[0]
    experiment = params.experiments[name]
    vocabulary = params.corpora[experiment.corpus].subwords.vocabulary
    path.write_text(drawing(name, experiment.model, vocabulary), encoding="utf-8")


def towers(model: Transformer) -> list[Tower]:
    """What there is to draw, read from the modules."""
    vocabulary, d_model = model.embedding.shape
    first = {name: parameter for name, parameter in model.named_parameters() if "." not in name}
    embedding, positions = first["embedding"].numel(), first.get("positions")
    kind = "sin and cos of the position" if positions is None else f"positions {_shape(positions)}, learned"
    found = []
    for stack, (name, layers) in enumerate((("encoder", model.encoder), ("decoder", model.decoder))):
        again = "" if stack == 0 else ", the same"
        once = stack == 0
        before = [
            Block("Embedding", [f"embedding {vocabulary:,} × {d_model:,}{again}"], embedding * once, "#f6d5d8"),
            Block("Positional encoding", [kind + again * (positions is not None)],
                  positions.numel() * once if positions is not None else 0, "#eeeeee"),
        ]  # fmt: skip
        norm = model.get_submodule(f"{name}_norm")
        norms = [] if isinstance(norm, nn.Identity) else [_block(f"{name}_norm", norm)]
        last = Block("Linear, softmax", [f"embedding, transposed: {d_model:,} × {vocabulary:,}"], 0, "#dcd9ee")
        layer = [_block(child, module, masked=name == "decoder") for child, module in layers[0].named_children()]
        found.append(Tower(name, before, len(layers), layer, norms + [last] * (not once)))
    return found


def _block(name: str, module: nn.Module, masked: bool = False) -> Block:
    title, fill, lines = "Norm", "#f3f0c2", []
    if isinstance(module, Attention):
        title = "Masked multi-head attention" if masked and name == "attention" else "Multi-head attention"
        fill = "#fde0bd"
        queries, _, values = module.sizes
        lines = [f"{module.heads} heads, d_k {queries // module.heads}, d_v {values // module.heads}"]
    elif isinstance(module, FeedForward):
        title, fill = "Feed-forward", "#c9e6f2"
    elif isinstance(module, Residual):
        title = "Add & norm"
        lines = ["LayerNorm(x + Dropout(Sublayer(x)))" if module.post else "x + Dropout(Sublayer(LayerNorm(x)))"]
    weights = [f"{key} {_shape(parameter)}" for key, parameter in module.named_parameters()]
    pairs = [", ".join(weights[i : i + 2]) for i in range(0, len(weights), 2)]
    return Block(f"{title}: {name}", lines + pairs, count_parameters(module), fill)


def _shape(parameter: nn.Parameter) -> str:
    return " × ".join(f"{size:,}" for size in parameter.shape)


BOX, GAP, ROW = 330, 26, 16  # width of a box, space between boxes, height of a line of text
LEFT, BETWEEN, TOP, BOTTOM = 60, 130, 90, 50  # around the towers
SKIP, FRAME = 22, 36  # outside of the boxes: residual connections, the frame of a layer
ARROW = {"marker_end": "url(#arrow)"}


@dataclass
class Placed:
    """A block and where it stands: `y` is its upper edge."""

    block: Block
    y: float

    @property
    def height(self) -> float:
        """Of its box."""
        return 10 + ROW * (1 + len(self.block.lines))

    @property
    def bottom(self) -> float:
        """Of its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Where lines meet its sides."""
        return self.y + self.height / 2


def drawing(name: str, settings: ModelSettings, vocabulary: int) -> str:
    """The picture as SVG; the model is made without memory for its weights."""
    with torch.device("meta"):
        model = Transformer(settings, vocabulary)
    encoder, decoder = towers(model)
    lowest = TOP - min(_place(tower, 0)[-1].y for tower in (encoder, decoder))
    left, right = _place(encoder, lowest), _place(decoder, lowest)
    second = LEFT + BOX + BETWEEN
    parts = [
        text(LEFT - FRAME, 34, f"{name}: {count_parameters(model):,} parameters", font_size=18, font_weight="bold"),
        *_tower(encoder, left, LEFT, "source sub-words", outside=-1),
        *_tower(decoder, right, second, "target sub-words, shifted right", outside=1),
    ]
    for cross in (placed for placed in right if placed.block.title.endswith("cross_attention")):
        top, middle = left[-1].y - GAP, second - BETWEEN / 2
        way = [(LEFT + BOX / 2, left[-1].y), (LEFT + BOX / 2, top), (middle, top), (middle, cross.middle)]
        parts.append(line([*way, (second, cross.middle)], **ARROW))
    out = second + BOX / 2
    parts += [line([(out, right[-1].y), (out, right[-1].y - GAP)], **ARROW)]
    parts += [text(out, right[-1].y - GAP - 6, "probabilities of the next sub-word", text_anchor="middle")]
    return document(second + BOX + LEFT, lowest + BOTTOM, parts)


def _place(tower: Tower, bottom: float) -> list[Placed]:
    """Its blocks from `bottom` upwards, with room for the frame of the layers."""
    placed = []
    for block in tower.before + tower.layer + tower.after:
        if block in (tower.layer[0], *tower.after[:1]):
            bottom -= GAP
        one = Placed(block, 0)
        bottom = one.y = bottom - GAP - one.height
        placed.append(one)
    return placed


def _tower(tower: Tower, placed: list[Placed], x: float, source: str, outside: int) -> list[str]:
    """Boxes, the way through them, residual connections on one side (-1: left), and a frame round the layers."""
    center, edge = x + BOX / 2, x + BOX * (outside > 0)
    starts = [placed[0].bottom + GAP, *(one.y for one in placed)]
    parts = [text(center, starts[0] + 14, source, text_anchor="middle")]
    for one, start in zip(placed, starts, strict=False):
        parts += [line([(center, start), (center, one.bottom)], **ARROW), *_box(one, x)]
    layer = placed[len(tower.before) :][: len(tower.layer)]
    for sublayer, residual in zip(layer[::2], layer[1::2], strict=True):
        fork, away = sublayer.bottom + GAP / 2, edge + outside * SKIP
        way = [(center, fork), (away, fork), (away, residual.middle), (edge, residual.middle)]
        parts.append(line(way, **ARROW))
    top, bottom = layer[-1].y - 12, layer[0].bottom + GAP - 4
    frame = {"x": x - FRAME, "y": top, "width": BOX + 2 * FRAME, "height": bottom - top, "rx": 10}
    parts.append(element("rect", **frame, fill="none", stroke="#333", stroke_dasharray="5 4"))
    told = f"{tower.name}: {tower.layers} × {sum(block.parameters for block in tower.layer):,}"
    side = {"x": x - FRAME, "text_anchor": "start"} if outside < 0 else {"x": x + BOX + FRAME, "text_anchor": "end"}
    parts.append(element("text", told, y=top - 5, font_weight="bold", **side))
    return parts


def _box(placed: Placed, x: float) -> list[str]:
    block = placed.block
    frame = {"x": x, "y": placed.y, "width": BOX, "height": placed.height, "rx": 5}
    parts = [element("rect", **frame, fill=block.fill, stroke="#333")]
    parts.append(text(x + 10, placed.y + ROW, block.title, font_weight="bold"))
    if block.parameters:
        parts.append(text(x + BOX - 10, placed.y + ROW, f"{block.parameters:,}", text_anchor="end"))
    rows = enumerate(block.lines, start=2)
    return parts + [text(x + 10, placed.y + ROW * row, words, font_size=12) for row, words in rows]
