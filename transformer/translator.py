"""A trained model as a folder that translates on its own.

models/tiny/model.safetensors   weights, fp32
models/tiny/config.json         shape, search settings, languages, what is done to text, hash of the sub-word model
models/tiny/subwords.model      sentencepiece
models/tiny/README.md           what it is and where it comes from
"""

from pathlib import Path

import pydantic

from transformer.checkpoints import read_weights
from transformer.devices import pick_device
from transformer.errors import InputError
from transformer.files import read_json
from transformer.model import Transformer
from transformer.progress import bar
from transformer.search import Hypothesis, beam_search
from transformer.settings import ModelSettings, SearchSettings, Settings, TextSettings
from transformer.subwords import Subwords
from transformer.text import Preparation

# Source tokens searched at once; beam 4 makes four rows of each sentence.
TOKENS_AT_ONCE = 2048


class Config(Settings):
    """What config.json holds."""

    source_language: str
    target_language: str
    text: TextSettings
    subwords_sha256: str
    model: ModelSettings
    search: SearchSettings


class Translator:
    """Translates lines of raw text.

    Args:
        config: of the model folder.
        model: with its weights.
        subwords: the sub-word model it was trained with.
    """

    def __init__(self, config: Config, model: Transformer, subwords: Subwords) -> None:
        self.config, self.subwords = config, subwords
        self._source = Preparation(config.text, config.source_language)
        self._target = Preparation(config.text, config.target_language)
        self.model = model.to(pick_device()).eval()

    @classmethod
    def load(cls, folder: str | Path) -> "Translator":
        """Read a model folder; InputError names a file that is missing, damaged or of another model."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such model folder")
        try:
            config = Config.model_validate(read_json(folder / "config.json"))
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{folder / 'config.json'}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        subwords = Subwords(folder / "subwords.model")
        if subwords.sha256 != config.subwords_sha256:
            raise InputError(
                f"{folder / 'subwords.model'}: not the sub-word model that these weights were trained with"
            )
        model = Transformer(config.model, subwords.size)
        try:
            model.load_state_dict(read_weights(folder / "model.safetensors"))
        except RuntimeError:
            raise InputError(f"{folder / 'model.safetensors'}: its weights do not fit config.json") from None
        return cls(config, model, subwords)

    def translate(self, lines: list[str]) -> list[str]:
        """The translation of each line; an empty one for a line with nothing visible in it."""
        return self.restore(self.decode(self.search(lines)))

    def encode(self, lines: list[str]) -> list[list[int]]:
        """The ids of raw source lines."""
        return self.subwords.encode(map(self._source.prepare, lines))

    def decode(self, hypotheses: list[Hypothesis]) -> list[str]:
        """The prepared text of each output: in lower case, as tokens, if the model was trained so."""
        return self.subwords.decode([hypothesis.ids for hypothesis in hypotheses])

    def restore(self, lines: list[str]) -> list[str]:
        """Plain text of prepared lines."""
        return [self._target.restore(line) for line in lines]

    def search(self, lines: list[str], show: bool = False) -> list[Hypothesis]:
        """The best output of each line with its score; `show` draws a progress bar."""
        sources = self.encode(lines)
        found = [Hypothesis([], 0.0) for _ in lines]
        with bar(len(lines), "translate", "line", hidden=not show) as shown:
            for rows in _batches(sources):
                outputs = beam_search(self.model, [sources[row] for row in rows], self.config.search)
                for row, output in zip(rows, outputs, strict=True):
                    found[row] = output
                shown.update(len(rows))
        return found


def _batches(sources: list[list[int]]) -> list[list[int]]:
    """Rows of like length together, longest first so that memory runs short at once or never; empty ones left out."""
    batches: list[list[int]] = []
    for row in sorted(range(len(sources)), key=lambda row: -len(sources[row])):
        if not sources[row]:
            continue
        if not batches or (len(batches[-1]) + 1) * (len(sources[batches[-1][0]]) + 1) > TOKENS_AT_ONCE:
            batches.append([])
        batches[-1].append(row)
    return batches
