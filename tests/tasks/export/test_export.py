"""Models in the format of CTranslate2: what that library finds with them, and what cannot be exported."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.export import __main__ as export
from tasks.export import comparison
from tasks.export.agreement import ROUNDING, Agreement, agree
from tests.random_model import SHAPE, VOCABULARY, random_model, use_word_pieces, write_corpus, write_folder
from tests.transformer.conftest import backwards
from transformer.io.errors import InputError
from transformer.model import Transformer
from transformer.search import Hypothesis
from transformer.settings import ModelSettings, SearchSettings, TextSettings, TrainingSettings
from transformer.text.subwords import BOS, EOS, PAD
from transformer.trainer import Trainer
from transformer.translator import Config, Translator

ctranslate2 = pytest.importorskip("ctranslate2", reason="CTranslate2 is missing: make install-export")
from tasks.export import ctranslate2_model  # noqa: E402

PRE = {"normalisation": "pre", "positions": "concatenated"}
PIECES = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{i}" for i in range(4, VOCABULARY))]


@pytest.fixture(scope="module")
def half_trained(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """It has begun to learn to say a sentence backwards: it knows when to end, and is often not sure."""
    settings = TrainingSettings(
        updates=200, tokens_per_update=300, tokens_per_device=300, warmup=100, learning_rate_factor=1.0, beta2=0.98,
        lengths_per_update=1, label_smoothing=0.1, precision="fp32", compile=False, snapshot_every=200,
        keep_snapshots=1, validate_every=1000, seed=1,
    )  # fmt: skip
    shape = ModelSettings(**SHAPE)
    data = backwards(800, seed=1), backwards(10, seed=2)
    trainer = Trainer(shape, settings, 12, *data, tmp_path_factory.mktemp("training"))
    trainer.run()
    config = Config(
        source_language="en", target_language="xx", text=TextSettings(lowercase=False, tokenise="none"),
        subwords_sha256="", model=shape,
        search=SearchSettings(beam=4, penalty="length", length_penalty=0.6, extra_length=30, ends_within_beam=True),
    )  # fmt: skip
    return Translator(config, trainer.model, None)  # type: ignore[arg-type]


def exported(model: Transformer, pieces: list[str], folder: Path) -> ctranslate2.Translator:
    folder.mkdir()
    ctranslate2_model.write(model, pieces, folder, "float32")
    return ctranslate2_model.load(folder, "cpu")


@pytest.mark.parametrize(
    "changes", [{}, PRE, {"positions": "learned"}, {"d_k": 4, "d_v": 4}], ids=lambda c: " ".join(map(str, c))
)
def test_each_token_has_the_same_log_probability(changes: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(**changes)
    source, target = torch.randint(4, VOCABULARY, (8, 9)), torch.randint(4, VOCABULARY, (8, 12))
    ends, begins = torch.full((8, 1), EOS), torch.full((8, 1), BOS)
    with torch.inference_mode():
        logits = model.logits(model(torch.cat([source, ends], 1), torch.cat([begins, target], 1), None))
        logits[..., [PAD, BOS]] = -torch.inf  # as in our search
        expected = logits.log_softmax(-1).gather(2, torch.cat([target, ends], 1).unsqueeze(2)).squeeze(2)
    found = exported(model, PIECES, tmp_path / "export").score_batch(
        *([[PIECES[i] for i in row] for row in side.tolist()] for side in (source, target))
    )
    torch.testing.assert_close(torch.tensor([one.log_probs for one in found]), expected.clone(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_the_search_finds_the_same_outputs(half_trained: Translator, alpha: float, tmp_path: Path) -> None:
    pieces = PIECES[:12]
    loaded = exported(half_trained.model, pieces, tmp_path / "export")
    settings = half_trained.config.search.model_copy(update={"length_penalty": alpha})
    sources = torch.randint(4, 12, (100, 6)).tolist()  # of one length: CTranslate2 has one length limit for a call
    ours = comparison.our_search(half_trained, sources)(settings)
    patient = ctranslate2_model.CTranslate2Search(loaded, pieces, patience=4, batch=16)
    theirs = patient.search(sources, settings)
    assert agree(ours, theirs).share >= 0.99
    ended = [row for row, hypothesis in enumerate(ours) if not hypothesis.cut]
    found = agree([ours[row] for row in ended], [theirs[row] for row in ended])
    assert found.sentences > 50 and found.score_difference < ROUNDING, found


def test_an_end_counts_within_the_beam_alone_if_so_set(half_trained: Translator) -> None:
    """The unfinished hypotheses are the same either way, so that what may end less often scores no more."""
    search = comparison.our_search(half_trained, torch.randint(4, 12, (100, 6)).tolist())
    settings = half_trained.config.search.model_copy(update={"length_penalty": 0.0, "beam": 2})
    within = search(settings)
    anywhere = search(settings.model_copy(update={"ends_within_beam": False}))
    assert all(a.score <= b.score + 1e-4 for a, b in zip(within, anywhere, strict=True))
    assert [a.ids for a in within] != [b.ids for b in anywhere]


def test_an_output_that_is_cut_says_so(half_trained: Translator, tmp_path: Path) -> None:
    pieces = PIECES[:12]
    loaded = exported(half_trained.model, pieces, tmp_path / "export")
    settings = half_trained.config.search.model_copy(update={"extra_length": -5})
    found = ctranslate2_model.CTranslate2Search(loaded, pieces, 1, 16).search([[4, 5, 6, 7, 8, 9]], settings)
    assert found[0].cut and len(found[0].ids) == 1


def test_what_the_format_cannot_hold_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.d_v is 4 and model\.d_k 8"):
        export.export(write_folder(tmp_path / "model", d_v=4), tmp_path, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_an_export_translates_as_its_card_says(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, corpus = write_folder(tmp_path / "model"), write_corpus(tmp_path / "corpus")
    if kind == "wordpiece":
        use_word_pieces(model)
    export.export(model, corpus, tmp_path / "exports" / "mine")
    printed = capsys.readouterr()
    assert "exports/mine: fp32, alpha 0: " in printed.out and "% of 24 outputs are the same as ours" in printed.out
    # An untrained model does not know when to end, and CTranslate2 does not limit each output by its own source.
    assert "warning: fewer than 99% are the same in fp32; see its README.md" in printed.err
    folder = tmp_path / "exports" / "mine"
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("model.bin")}
    assert names == {"ctranslate2/model.bin", "ctranslate2-int8/model.bin"}
    card = (folder / "README.md").read_text()
    assert "| fp32, alpha 0 | " in card and "24 sentences of the test split" in card
    assert re.search(r"BLEU is sacreBLEU's on plain text: `nrefs:1\|[^`]*\|tok:13a\|[^`]*`\.\n", card)
    assert re.search(r"\| CTranslate2 int8 \| [\d,]+ \| \d+\.\d\d \|", card)
    monkeypatch.chdir(folder)
    code = card.partition("```python\n")[2].partition("```")[0]
    exec(code.replace("A sentence.", "the red Δ cat sees the dog"), {})
    assert capsys.readouterr().out.startswith("['")


def test_bleu_of_an_export_is_of_the_lines_that_have_text(tmp_path: Path) -> None:
    translator, corpus = Translator.load(write_folder(tmp_path / "model")), write_corpus(tmp_path / "corpus")
    sources, references = comparison.read_test(corpus, translator)
    assert len(references) == len(sources) == 24 and "" not in references
    written = [Hypothesis(ids, 0.0) for ids in translator.subwords.encode(references)]
    found = comparison.bleu(translator, written, references)
    assert found["score"] == pytest.approx(100)
    assert "|tok:13a|" in found["signature"]
    assert comparison.bleu(translator, written[::-1], references)["score"] < 50


def test_lines_are_counted_before_the_first_are_taken(tmp_path: Path) -> None:
    translator, corpus = Translator.load(write_folder(tmp_path / "model")), write_corpus(tmp_path / "corpus")
    for language, count in (("en", comparison.SENTENCES), ("xx", comparison.SENTENCES + 1)):
        (corpus / f"test.{language}").write_text("a line\n" * count)
    with pytest.raises(InputError, match=r"test\.en: 1,000 lines, .*test\.xx: 1,001 lines"):
        comparison.read_test(corpus, translator)


def test_what_is_missing_is_named_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write_folder(tmp_path / "model")
    with pytest.raises(InputError, match=r"corpus/test\.en: no such file"):
        export.export(model, tmp_path / "corpus", tmp_path / "mine")
    monkeypatch.delitem(sys.modules, "tasks.export.ctranslate2_model")
    monkeypatch.delattr("tasks.export.ctranslate2_model", raising=False)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(InputError, match="ctranslate2 is not installed: run `make install-export`"):
        export.export(model, tmp_path / "corpus", tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_scores_say_why_outputs_differ() -> None:
    ours = [Hypothesis([5], -1.0), Hypothesis([5], -1.0), Hypothesis([5], -1.0), Hypothesis([5], -1.0)]
    theirs = [Hypothesis([5], -1.00002), Hypothesis([6], -1.00002), Hypothesis([6], -2.0), Hypothesis([6], -0.5)]
    found = agree(ours, theirs)
    assert found == Agreement(4, same=1, ties=1, ours_better=1, theirs_better=1, score_difference=pytest.approx(2e-5))
    assert found.share == 0.25
