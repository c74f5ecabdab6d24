"""Stage `subwords`: learn one sub-word vocabulary for both languages (section 5.1).

    python -m tasks.subwords C

in:   data/corpora/C/       train.SRC, train.TGT, corpus.json
out:  data/subwords/C/      subwords.model   BPE as sentencepiece has it, or a JSON list of word pieces
                            subwords.json    size of the vocabulary, ids, hash, lines it was learned from, and what is
                                             done to text before: later stages take it from here

Only our own rules of transformer/text/preparation.py change the text (sentencepiece's is `identity`): its usual one
rewrites fractions, ellipses and trade marks to forms from which there is no way back.

Of trees each symbol is one sub-word, so that one step of a model's output is one bracket or word.

Both kinds are learned by merging the most frequent pair again and again, as `tokenizers` does for word pieces too. They
differ in how they cut a word: BPE by the order in which merges were learned, word pieces at the longest piece.
"""

import io
import itertools
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tasks.common.noted import check_files
from tasks.common.paths import CORPORA, SUBWORDS
from tasks.common.settings import SubwordSettings, key_argument, read_corpus
from tasks.encoding.encoder import cut_words
from transformer.io.errors import InputError, run_main
from transformer.io.files import read_json, whole_folder, write_json
from transformer.io.progress import every, track
from transformer.settings import TextSettings
from transformer.text.bpe import Bpe
from transformer.text.preparation import WORD_START, Preparation
from transformer.text.subwords import BOS, EOS, PAD, UNK, Subwords
from transformer.text.trees import closes, opens
from transformer.text.wordpieces import WordPieces

# The trainer leaves out each word with a U+2585, with which it marks unknown characters. It is shown a character that
# no normalised text has instead, and the pieces are given the right one afterwards.
RESERVED, STAND_IN = "\u2585", "\u2063"
CHUNK = 1_000_000  # lines of which some are drawn together
LINES_AT_ONCE = 100_000  # whose words are counted together
# Stands in every subwords.json. The file is transformer/text/preparation.py now; another text would make all trainings
# out of date.
NORMALISATION = "identity, after transformer/text.py"


def learn_subwords(corpus: Path, text: TextSettings, settings: SubwordSettings, out: Path) -> None:
    """Learn from the train split of `corpus`, prepared, and write the folder `out`.

    The same input gives the same bytes. InputError if the text does not yield so large a vocabulary, if its characters
    alone do not fit in it, or if it is damaged.
    """
    description = read_json(corpus / "corpus.json")
    languages = description["languages"]
    lines = 2 * description["pairs"]["train"]
    used = min(lines, settings.sample)
    codes = languages["source"], languages["target"]
    check_files(corpus, description.get("sha256", {}), [f"train.{code}" for code in codes])
    chosen = _choose([corpus / f"train.{code}" for code in codes], lines, used, settings.seed)
    preparations = [Preparation(text, code) for code in codes]
    symbols: set[str] = set()

    def prepared() -> Iterator[str]:
        for side, line in chosen:
            line = preparations[side].prepare(line.removesuffix("\n"))
            if text.trees and side == 1:
                symbols.update(s for s in line.split(" ") if text.trees != "words" or opens(s) or closes(s))
            yield line

    words = count_words(track(prepared(), "counting words for sub-words", "lines", used))
    with _signs_of_life(f"learning {settings.vocabulary} sub-words from {len(words):,} distinct words"):
        model = _train(words, settings.vocabulary, sorted(symbols))
    if settings.kind == "wordpiece":
        model = WordPieces(Bpe(model).pieces).dump()
    with whole_folder(out) as folder:
        path = folder / "subwords.model"
        path.write_bytes(model)
        learned = Subwords(path)
        ids = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}
        facts = {"vocabulary": learned.size, "sha256": learned.sha256, "ids": ids, "kind": learned.kind}
        facts |= {
            "normalisation": NORMALISATION,
            "lines": lines,
            "lines_used": used,
        }
        facts |= {"text": text.model_dump(exclude_none=True)}
        write_json(folder / "subwords.json", facts)


def _choose(paths: list[Path], lines: int, used: int, seed: int) -> Iterator[tuple[int, str]]:
    """So many of all lines with their side (0 or 1), drawn over both sides, in the order of the files.

    The trainer's own sampling takes the head of the input, which is one language.
    """
    with (
        paths[0].open(encoding="utf-8", newline="\n") as source,
        paths[1].open(encoding="utf-8", newline="\n") as target,
    ):
        sides = itertools.chain(((0, line) for line in source), ((1, line) for line in target))
        yield from itertools.compress(sides, itertools.chain.from_iterable(_draw(lines, used, seed)))


def _draw(lines: int, used: int, seed: int) -> Iterator[list[bool]]:
    """Whether each line is used, some lines at a time: a permutation of 72 million would take 600 MB."""
    random = np.random.default_rng(seed)
    for left in range(lines, 0, -CHUNK):
        size = min(CHUNK, left)
        count = random.hypergeometric(used, left - used, size)
        chosen = np.zeros(size, dtype=bool)
        chosen[random.choice(size, count, replace=False)] = True
        used -= count
        yield chosen.tolist()


def count_words(lines: Iterator[str]) -> Counter[str]:
    """How often each word stands in the lines, which are prepared.

    From these the trainer learns what it learns from the lines, since it cuts them at spaces first, in less time and
    memory.
    """
    words: Counter[str] = Counter()
    while some := list(itertools.islice(lines, LINES_AT_ONCE)):
        _, coded = cut_words(some)
        counts = np.bincount(coded.indices.to_numpy()).tolist()
        for word, count in zip(coded.dictionary.to_pylist(), counts, strict=True):
            words[word] += count
    del words[""]
    return words


@contextmanager
def _signs_of_life(what: str) -> Iterator[None]:
    """Say every ten seconds that it goes on: the trainer is silent after it has read its lines."""
    started = time.monotonic()

    def say() -> None:
        print(f"{what}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    with every(10, say):
        yield


def _train(words: Counter[str], vocabulary: int, symbols: list[str]) -> bytes:
    """A BPE model as sentencepiece keeps it, in which each of the symbols is one sub-word."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word.replace(RESERVED, STAND_IN)}\t{count}" for word, count in words.items()),
            input_format="tsv",
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary,
            character_coverage=1.0,
            normalization_rule_name="identity",
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            unk_surface="\ufffd",  # the usual one has spaces around it, and is rewritten to "??" further on
            user_defined_symbols=[WORD_START + symbol.replace(RESERVED, STAND_IN) for symbol in symbols],
            max_sentence_length=2**30,  # bytes; longer lines would be left out in silence: the corpus bounds them
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explain(str(error), vocabulary) from None
    # The file shall be that which learning from lines gives, and scores in git were measured with.
    learned = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    learned.trainer_spec.ClearField("input_format")
    for piece in learned.pieces:
        piece.piece = piece.piece.replace(STAND_IN, RESERVED)
    return bytes(learned.SerializeToString(deterministic=True))


def _explain(message: str, vocabulary: int) -> Exception:
    """The trainer's message as a line that says which sizes are possible."""
    if largest := re.search(r"Please set it to a value <= (\d+)", message):
        return InputError(f"subwords.vocabulary is {vocabulary}, but this corpus yields {largest[1]} at most: lower it")
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return InputError(f"subwords.vocabulary is {vocabulary}, but the characters alone take {smallest[1]}: raise it")
    return RuntimeError(message)


def main() -> None:
    """Learn the sub-words of the corpus named on the command line."""
    name = key_argument("corpus")
    settings = read_corpus(name, "text", "subwords")
    learn_subwords(CORPORA / name, settings.text, settings.subwords, SUBWORDS / name)


if __name__ == "__main__":
    run_main(main)
