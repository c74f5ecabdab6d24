"""The stage translate: what it refuses before it searches."""

from pathlib import Path

import pytest

from tasks.translate import translate_splits
from tests.random_model import write_corpus, write_folder
from transformer.io.errors import InputError
from transformer.translator import Translator


@pytest.mark.fault("F02")
def test_references_that_do_not_fit_are_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perplexity, which needs them, comes after hours of it."""
    translator, corpus = Translator.load(write_folder(tmp_path / "model")), write_corpus(tmp_path / "corpus")
    for name, lines in (("valid.en", 2), ("valid.xx", 2), ("test.en", 2), ("test.xx", 3)):
        (corpus / name).write_text("a line\n" * lines)
    monkeypatch.setattr(Translator, "search", None)
    with pytest.raises(InputError, match=r"test\.en: 2 lines, .*test\.xx: 3 lines"):
        translate_splits(translator, corpus, tmp_path)
