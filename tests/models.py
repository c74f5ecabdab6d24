"""A model folder with random weights: complete, small, and made in no time."""

import io
from pathlib import Path

from tests.workspace import PAPER, sentences


def write_random_model(folder: Path) -> Path:
    """Write it for the made-up language of tests/workspace.py; returns the folder."""
    import sentencepiece
    import torch

    from transformer.checkpoints import write_tensors
    from transformer.files import write_json
    from transformer.model import Transformer
    from transformer.settings import ModelSettings, SearchSettings, TextSettings
    from transformer.subwords import Subwords
    from transformer.translator import Config

    folder.mkdir(parents=True)
    learned = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for pair in sentences(50, seed=1) for line in pair]), model_writer=learned,
        vocab_size=60, model_type="bpe", pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2,
    )  # fmt: skip
    (folder / "subwords.model").write_bytes(learned.getvalue())
    subwords = Subwords(folder / "subwords.model")
    config = Config(
        source_language="en",
        target_language="xx",
        text=TextSettings(lowercase=False, tokenise="none"),
        subwords_sha256=subwords.sha256,
        model=ModelSettings(layers=1, d_model=16, d_ff=16, heads=2, d_k=8, d_v=8, dropout=0.1, **PAPER),
        search=SearchSettings(beam=2, penalty="paper", length_penalty=0.6, extra_length=5),
    )
    write_json(folder / "config.json", config.model_dump())
    write_json(folder / "training.json", {"experiment": folder.name, "update": 1})
    (folder / "README.md").write_text(f"# {folder.name}\n")
    torch.manual_seed(3)
    write_tensors(folder / "model.safetensors", Transformer(config.model, subwords.size).state_dict())
    return folder
