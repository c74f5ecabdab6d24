"""What the doctor says without measuring."""

import sys
from types import SimpleNamespace

import pytest

from tasks import doctor


def test_a_language_without_its_tokeniser_is_told_before_a_long_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    corpus = SimpleNamespace(languages=SimpleNamespace(target="ja"))
    monkeypatch.setattr(doctor, "read_corpus", lambda name, section: corpus)
    ((good, line),) = doctor._scores("c")
    assert not good
    assert "sacrebleu[ja]" in line
    corpus.languages.target = "de"
    assert doctor._scores("c") == []
