"""Where a trained model looks, in every head, while it translates one sentence of ours: for figures like the paper's.

python -m tasks.attention tiny

models/E/
  -> reports/attention/E.json    pieces, and the weights of the last layer but one (in the paper, 5 of 6)

`encoder` and `decoder` are self-attention: a list of heads, in each a row for each piece, how much of its attention
goes to each piece. Rows of `cross` are pieces of the output while they are written, columns those of the source.
"""

from typing import Any

import torch

from tasks.common.paths import MODELS, REPORTS
from tasks.common.settings import key_argument, read_attention
from transformer.inspect.attention_maps import attention_maps
from transformer.io.errors import run_main
from transformer.io.files import read_json, to_json, whole_file
from transformer.text.subwords import BOS, EOS
from transformer.translator import Translator

SECTIONS = ("sentence",)
DIGITS = 3


def main() -> None:
    """Look at one experiment's model."""
    experiment = key_argument("experiment")
    settings = read_attention(experiment, *SECTIONS)
    training = read_json(MODELS / experiment / "training.json")
    seen = look(Translator.load(MODELS / experiment), settings.sentence)
    about = {key: training[key] for key in ("date", "update", "made_by", "mlflow_run")}
    path = REPORTS / "attention" / f"{experiment}.json"
    text = to_json({"experiment": experiment, **seen, "training": about}, indent=None)
    with whole_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")  # on one line: of thousands of numbers none is read
    print(f"{experiment}: layer {seen['layer']} of {seen['layers']}, {len(seen['encoder'])} heads: {seen['output']}")


def look(translator: Translator, sentence: str) -> dict[str, Any]:
    """The sentence, the model's output, both as pieces, and the weights, rounded."""
    (ids,), (found,) = translator.encode([sentence]), translator.search([sentence])
    source, output = [*ids, EOS], found.ids + [EOS] * (not found.cut)
    shifted = [BOS, *output[:-1]]
    model, device = translator.model, translator.model.embedding.device
    weights = attention_maps(model, torch.tensor([source], device=device), torch.tensor([shifted], device=device))
    layers = translator.config.model.layers
    layer = max(1, layers - 1)
    pieces = translator.subwords.pieces

    def of(name: str) -> list[Any]:
        (weights_HTS,) = weights[name]
        return [[[round(x, DIGITS) for x in row] for row in head] for head in weights_HTS.tolist()]

    return {
        "sentence": sentence,
        "output": translator.restore(translator.decode([found]))[0],
        "layer": layer,
        "layers": layers,
        "source_pieces": pieces(source),
        "output_pieces": pieces(output),
        "decoder_pieces": pieces(shifted),
        "encoder": of(f"encoder.{layer - 1}.attention"),
        "decoder": of(f"decoder.{layer - 1}.attention"),
        "cross": of(f"decoder.{layer - 1}.cross_attention"),
    }


if __name__ == "__main__":
    run_main(main)
