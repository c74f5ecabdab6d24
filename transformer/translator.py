"""A trained model as a folder that translates on its own.

models/tiny/model.safetensors   weights, fp32
models/tiny/config.json         shape, search settings, languages, what is done to text, hash of the sub-word model
models/tiny/subwords.model      BPE of sentencepiece, or word pieces
models/tiny/README.md           what it is and where it comes from
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import pydantic
import torch

from transformer.alignment import alignment
from transformer.checkpoints import read_weights
from transformer.io.errors import InputError
from transformer.io.files import read_json
from transformer.io.progress import bar
from transformer.model import LEARNED_POSITIONS, Transformer
from transformer.search import Constraint, Hypothesis, beam_search
from transformer.settings import ModelSettings, SearchSettings, Settings, TextSettings
from transformer.telemetry.devices import pick_device
from transformer.text.preparation import Preparation
from transformer.text.splitting import split
from transformer.text.subwords import BOS, EOS, Subwords

# Source tokens searched at once with the model's own beam; beam 4 makes four rows of each sentence.
TOKENS_AT_ONCE = 4096

Precision = Literal["fp32", "bf16"]
PRECISIONS: dict[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Config(Settings):
    """What config.json holds.

    `longest_source` is the number of sub-words of the longest source in training; None if the folder does not say.
    """

    source_language: str
    target_language: str
    text: TextSettings
    subwords_sha256: str
    model: ModelSettings
    search: SearchSettings
    longest_source: int | None = None


@dataclass
class Part:
    """A source that is searched in one piece, as ids without end symbol, and an output for it."""

    source: list[int]
    output: Hypothesis


@dataclass
class Translation:
    """A translation of a line as plain text, and the parts it is made of: more than one where the line was split."""

    text: str
    parts: list[Part]

    @property
    def score(self) -> float:
        """The sum of the penalised log-probabilities of the parts."""
        return _score(self.parts)

    @property
    def cut(self) -> bool:
        """Whether it ends, or a part does, because an output may not be longer."""
        return any(part.output.cut for part in self.parts)


def _score(parts: list[Part]) -> float:
    return sum(part.output.score for part in parts)


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
        # Asked for once: while one caller's batches are searched, PyTorch tells another caller of fewer.
        self._threads = torch.get_num_threads()

    @classmethod
    def load(cls, folder: str | Path, precision: Precision = "fp32") -> "Translator":
        """Read a model folder; InputError names a file that is missing, damaged or of another model.

        `precision` is that of the weights and of what is computed with them. bf16 is faster where the hardware has it;
        about one output in twenty is another one, no worse in the mean.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError(f"{folder}: no such model folder")
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder}: no model folder: it has no config.json")
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
        return cls(config, model.to(PRECISIONS[precision]), subwords)

    @property
    def most(self) -> int:
        """So many sub-words may a source have at all: memory grows with the square of its length.

        As many as one batch takes, and no more than a table of learned positions has room for together with the output.
        """
        if self.config.model.positions == "learned":
            return min(TOKENS_AT_ONCE, LEARNED_POSITIONS - self.config.search.extra_length) - 1
        return TOKENS_AT_ONCE - 1

    @property
    def longest(self) -> int:
        """So many sub-words may a source have to be translated in one piece.

        As the longest in training: what a model makes of longer ones is poor.
        """
        longest = self.config.longest_source
        return self.most if longest is None else min(self.most, longest)

    def translate(self, lines: list[str]) -> list[str]:
        """The translation of each line; an empty one for a line with nothing visible in it."""
        return [best.text for best, *_ in self.nbest(lines, 1)]

    def nbest(self, lines: list[str], n: int) -> list[list[Translation]]:
        """The n best translations of each line, best first; fewer where there are not so many.

        A line of more sub-words than `longest` is split, at sentence ends if it has some, and its translations are
        those of its parts in a row. The beam is that of the model, or n if that is more.
        """
        if self.config.text.trees:
            raise InputError(
                "this model parses: use transformer.parsing.parser.Parser, or `python -m transformer` with --trees"
            )
        split_lines = self._split(lines, self.longest)
        found = iter(self.search_ids(list(chain(*split_lines)), n))
        translations = []
        for sources in split_lines:
            best: list[list[Part]] = [[]]
            for source in sources:
                outputs = next(found)
                longer = [[*parts, Part(source, output)] for parts in best for output in outputs]
                best = sorted(longer, key=_score, reverse=True)[:n]
            translations.append([self._translation(parts) for parts in best])
        return translations

    def _split(self, lines: list[str], most: int) -> list[list[list[int]]]:
        """The ids of each line; of one that has more than `most`, in parts of at most `longest`."""

        def fits(text: str) -> bool:
            return len(self.encode([text])[0]) <= self.longest

        encoded = zip(lines, self.encode(lines), strict=True)
        return [[ids] if len(ids) <= most else self.encode(split(line, fits)) for line, ids in encoded]

    def _translation(self, parts: list[Part]) -> Translation:
        texts = self.restore(self.decode([part.output for part in parts]))
        return Translation(" ".join(text for text in texts if text), parts)

    def alignment(self, part: Part) -> tuple[list[str], list[str], list[list[float]]]:
        """Source and output as pieces, with end symbols, and where the model looked while it wrote each piece.

        Rows are pieces of the output; `transformer.alignment.alignment` says of which attention. An
        output that was cut has no end symbol.
        """
        source, output = [*part.source, EOS], part.output.ids + [EOS] * (not part.output.cut)
        device = self.model.embedding.device
        source_BS, target_BT = (torch.tensor([ids], device=device) for ids in (source, [BOS, *output[:-1]]))
        weights_BTS = alignment(self.model, source_BS, target_BT)
        return self.subwords.pieces(source), self.subwords.pieces(output), weights_BTS[0].tolist()

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
        """The best output of each line with its score; `show` draws a progress bar.

        No line is split but one of more than `most` sub-words, as `nbest` splits those of more than `longest`. Its
        output is those of its parts in a row, and it is named on standard error.
        """
        split_lines = self._split(lines, self.most)
        for number, sources in enumerate(split_lines, start=1):
            if len(sources) > 1:
                said = f"line {number}: more than the {self.most:,} sub-words that are searched at once"
                print(f"{said}, so translated in {len(sources)} parts", file=sys.stderr, flush=True)
        found = iter(self.search_ids(list(chain(*split_lines)), 1, show))
        return [_in_a_row([next(found)[0] for _ in sources]) for sources in split_lines]

    def search_ids(
        self,
        sources: list[list[int]],
        n: int,
        show: bool = False,
        constrain: Callable[[list[int]], Constraint] | None = None,
    ) -> list[list[Hypothesis]]:
        """The n best outputs of each source; one that is empty, with score 0, for an empty source.

        InputError for a source of more than `most` sub-words.

        `constrain` makes the constraint of a batch, from the places of its sources among all.
        """
        if (length := max(map(len, sources), default=0)) > self.most:
            raise InputError(f"a sentence of {length:,} sub-words: more than {self.most:,} are not searched at once")
        found = [[Hypothesis([], 0.0)] for _ in sources]
        beam = self.config.search.beam
        settings = self.config.search.model_copy(update={"beam": max(beam, n)})
        batches = _batches(sources, TOKENS_AT_ONCE * beam // settings.beam, self._side_by_side)

        def search(rows: list[int]) -> list[list[Hypothesis]]:
            constraint = constrain(rows) if constrain else None
            return beam_search(self.model, [sources[row] for row in rows], settings, n, constraint)

        with (
            bar(len(sources), "parse" if self.config.text.trees else "translate", "line", hidden=not show) as shown,
            _workers(min(self._side_by_side, len(batches)), self._threads) as pool,
        ):
            for rows, outputs in zip(batches, pool.map(search, batches), strict=True):
                for row, output in zip(rows, outputs, strict=True):
                    found[row] = output
                shown.update(len(rows))
        return found

    @property
    def _side_by_side(self) -> int:
        """Batches searched at once: two cores do two small products sooner than halves of one twice."""
        return self._threads if self.model.embedding.device.type == "cpu" else 1


def _in_a_row(outputs: list[Hypothesis]) -> Hypothesis:
    """The outputs of the parts of a line as one."""
    if len(outputs) == 1:
        return outputs[0]
    ids = list(chain.from_iterable(output.ids for output in outputs))
    return Hypothesis(ids, sum(output.score for output in outputs), any(output.cut for output in outputs))


@contextmanager
def _workers(number: int, threads: int) -> Iterator[ThreadPoolExecutor]:
    """So many workers that share PyTorch's threads among them."""
    each = max(1, threads // max(1, number))
    pool = ThreadPoolExecutor(max(1, number), initializer=torch.set_num_threads, initargs=(each,))
    finished = False
    try:
        yield pool
        finished = True
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)  # Ctrl-C does not wait for a batch of a large model
        torch.set_num_threads(threads)  # what a thread sets is also what later threads begin with


def _batches(sources: list[list[int]], tokens: int, least: int) -> list[list[int]]:
    """Rows of like length together, longest first so that memory runs short at once or never; empty ones left out.

    A batch has at most so many `tokens`, end symbols and padding counted, or one row; there are `least` batches or more
    unless there are fewer rows.
    """
    tokens = min(tokens, -(-sum(len(source) + 1 for source in sources if source) // least))
    batches: list[list[int]] = []
    for row in sorted(range(len(sources)), key=lambda row: -len(sources[row])):
        if not sources[row]:
            continue
        if not batches or (len(batches[-1]) + 1) * (len(sources[batches[-1][0]]) + 1) > tokens:
            batches.append([])
        batches[-1].append(row)
    return batches
