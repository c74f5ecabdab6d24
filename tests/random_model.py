"""A model folder with random weights, for tests that need no good translations."""

import io
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import save_file

from tests.workspace import PAPER, sentences
from transformer.io.files import read_json, sha256, write_json
from transformer.model import Transformer
from transformer.settings import ModelSettings, SearchSettings, TextSettings
from transformer.text.preparation import WORD_START
from transformer.text.special_symbols import SYMBOLS
from transformer.text.subwords import Subwords
from transformer.text.wordpieces import WordPieces
from transformer.translator import Config

VOCABULARY = 60
SHAPE = {"layers": 2, "d_model": 32, "d_ff": 48, "heads": 4, "d_k": 8, "d_v": 8, "dropout": 0.1, **PAPER}


def random_model(seed: int = 5, noise: float = 0.3, **changes: object) -> Transformer:
    """Weights as a training begins with them, and `noise` on those that begin as zeros or ones."""
    torch.manual_seed(seed)
    model = Transformer(ModelSettings(**{**SHAPE, **changes}), VOCABULARY).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += noise * torch.randn_like(parameter)
    return model


def write_folder(folder: Path, seed: int = 5, noise: float = 0.3, **changes: object) -> Path:
    """A model folder with random weights; few of its outputs end before the length limit, without `noise` more do."""
    folder.mkdir(parents=True)
    subwords = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for pair in sentences(50, seed=1) for line in pair]), model_writer=subwords,
        vocab_size=VOCABULARY, model_type="bpe", pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2,
    )  # fmt: skip
    (folder / "subwords.model").write_bytes(subwords.getvalue())
    model = random_model(seed, noise, **changes)
    config = Config(
        source_language="en", target_language="xx", text=TextSettings(lowercase=False, tokenise="none"),
        subwords_sha256=Subwords(folder / "subwords.model").sha256, model=model.settings,
        search=SearchSettings(beam=4, penalty="paper", length_penalty=0.6, extra_length=8),
    )  # fmt: skip
    write_json(folder / "config.json", config.model_dump())
    save_file(model.state_dict(), folder / "model.safetensors")
    write_json(folder / "training.json", {"experiment": folder.name, "update": 1})
    (folder / "README.md").write_text(f"# {folder.name}\n")
    return folder


def use_word_pieces(folder: Path) -> None:
    """The sub-words of a model folder become word pieces, with the same vocabulary."""
    bpe = Subwords(folder / "subwords.model")
    _write_pieces(folder, bpe.pieces(range(bpe.size)))


def _write_pieces(folder: Path, pieces: list[str], **changes: object) -> None:
    path = folder / "subwords.model"
    path.write_bytes(WordPieces(pieces).dump())
    changes["subwords_sha256"] = sha256(path)
    write_json(folder / "config.json", read_json(folder / "config.json") | changes)


def write_parser(folder: Path, *pieces: str) -> Path:
    """A model folder with random weights whose target is trees, with these pieces among its word pieces."""
    symbols = [WORD_START + symbol for symbol in ("(S", ")S", "(NP", ")NP", "(NN)", "(.)", "(-LRB-)")]
    pieces = (*SYMBOLS, WORD_START, *symbols, *pieces, *"abcdefghilmnorstuw(),.-'[]%")
    pieces += tuple(chr(ord("ä") + i) for i in range(VOCABULARY - len(pieces)))
    write_folder(folder, noise=0.0)
    text = TextSettings(lowercase=False, tokenise="none", trees="tensor2tensor")
    _write_pieces(folder, list(pieces), text=text.model_dump(), target_language="tree")
    return folder


def write_corpus(folder: Path) -> Path:
    """A test split with an empty line."""
    folder.mkdir()
    for language, lines in zip(("en", "xx"), zip(*sentences(12, seed=3), strict=True), strict=True):
        (folder / f"test.{language}").write_text("\n".join([*lines, "", *lines]) + "\n")
    return folder
