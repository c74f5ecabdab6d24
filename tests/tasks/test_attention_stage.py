"""The stage `attention`: weights of the real model, on the pieces of a sentence and of what it wrote."""

from pathlib import Path

import pytest

from tasks.attention import look
from tests.random_model import write_folder
from transformer.translator import Part, Translator

SENTENCE = "the red cat sees the dog"


def test_weights_belong_to_the_pieces_and_rows_sum_to_one(tmp_path: Path) -> None:
    seen = look(Translator.load(write_folder(tmp_path / "model", layers=3)), SENTENCE)
    source, output = seen["source_pieces"], seen["output_pieces"]
    assert (seen["layer"], seen["layers"]) == (2, 3)
    assert (source[-1], seen["decoder_pieces"]) == ("</s>", ["<s>", *output[:-1]])
    for kind, queries, keys in (("encoder", source, source), ("decoder", output, output), ("cross", output, source)):
        assert len(seen[kind]) == 4
        for head in seen[kind]:
            assert (len(head), {len(row) for row in head}) == (len(queries), {len(keys)})
            assert [sum(row) for row in head] == pytest.approx([1.0] * len(head), abs=0.0005 * len(keys))
    for head in seen["decoder"]:
        assert not any(any(row[place + 1 :]) for place, row in enumerate(head))


def test_with_one_layer_they_are_those_of_the_alignment(tmp_path: Path) -> None:
    translator = Translator.load(write_folder(tmp_path / "model", layers=1))
    (ids,), (found,) = translator.encode([SENTENCE]), translator.search([SENTENCE])
    source, output, weights = translator.alignment(Part(ids, found))
    seen = look(translator, SENTENCE)
    assert (seen["layer"], seen["source_pieces"], seen["output_pieces"]) == (1, source, output)
    for row, expected in enumerate(weights):
        mean = [sum(head[row][key] for head in seen["cross"]) / 4 for key in range(len(source))]
        assert mean == pytest.approx(expected, abs=0.0006)
