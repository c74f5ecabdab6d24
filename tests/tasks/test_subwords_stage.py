import io
import json
import random

import pytest
import sentencepiece

from tasks import subwords as stage
from tasks.common.settings import SubwordSettings
from tasks.subwords import learn_subwords
from transformer.io.errors import InputError
from transformer.io.files import sha256
from transformer.settings import TextSettings
from transformer.text.preparation import normalise
from transformer.text.subwords import UNK, Subwords

PLAIN = TextSettings(lowercase=False, tokenise="none")
SYLLABLES = ["ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so", "tu"]


def write_train(folder, pairs=300, extra=()):
    """A corpus of made-up words; the target side has letters of its own."""
    rng = random.Random(1)
    lines = [" ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(5)) for _ in range(pairs)] + list(extra)
    folder.mkdir()
    (folder / "train.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "train.de").write_text("\n".join(line.replace("o", "ö") for line in lines) + "\n", encoding="utf-8")
    facts = {"languages": {"source": "en", "target": "de"}, "pairs": {"train": len(lines)}}
    (folder / "corpus.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def settings(vocabulary=60, sample=10_000, seed=1, kind="bpe"):
    return SubwordSettings(kind=kind, vocabulary=vocabulary, sample=sample, seed=seed)


def test_the_vocabulary_is_shared_and_as_large_as_asked(tmp_path):
    learn_subwords(write_train(tmp_path / "corpus"), PLAIN, settings(), tmp_path / "out")
    subwords = Subwords(tmp_path / "out" / "subwords.model")
    facts = json.loads((tmp_path / "out" / "subwords.json").read_text(encoding="utf-8"))
    assert facts["vocabulary"] == subwords.size == 60
    assert facts["sha256"] == subwords.sha256 == sha256(tmp_path / "out" / "subwords.model")
    assert facts["ids"] == {"pad": 0, "unk": 1, "bos": 2, "eos": 3}
    assert all(UNK not in ids for ids in subwords.encode(["bado kilu", "badö kilu"]))


def test_counts_of_words_teach_what_the_lines_teach(tmp_path):
    corpus = write_train(tmp_path / "corpus", extra=["a ba  ba\u00a0(bado)", "é über"])
    learn_subwords(corpus, PLAIN, settings(), tmp_path / "out")
    model, lines = io.BytesIO(), []
    for code in ("en", "de"):
        lines += map(normalise, (corpus / f"train.{code}").read_text(encoding="utf-8").split("\n"))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=60, character_coverage=1.0,
        normalization_rule_name="identity", pad_id=0, unk_id=1, bos_id=2, eos_id=3, unk_surface="\ufffd",
        max_sentence_length=2**30, num_threads=1, minloglevel=2,
    )  # fmt: skip
    assert (tmp_path / "out" / "subwords.model").read_bytes() == model.getvalue()


def test_word_pieces_are_as_many_as_asked_and_known_from_their_file(tmp_path):
    corpus = write_train(tmp_path / "corpus")
    for name in ("one", "again"):
        learn_subwords(corpus, PLAIN, settings(kind="wordpiece"), tmp_path / name)
    subwords = Subwords(tmp_path / "one" / "subwords.model")
    facts = json.loads((tmp_path / "one" / "subwords.json").read_text(encoding="utf-8"))
    assert facts["kind"] == subwords.kind == "wordpiece"
    assert facts["vocabulary"] == subwords.size == 60
    assert sha256(tmp_path / "again" / "subwords.model") == facts["sha256"]
    lines = (corpus / "train.de").read_text(encoding="utf-8").split("\n")
    encoded = subwords.encode(lines)
    assert subwords.decode(encoded) == lines
    assert all(UNK not in ids for ids in encoded)
    assert sum(map(len, encoded)) < sum(len(line.replace(" ", "")) for line in lines) / 2


@pytest.mark.fault("F14")
def test_a_sample_has_so_many_lines_spread_over_all(monkeypatch):
    monkeypatch.setattr(stage, "CHUNK", 100)
    drawn = [list(stage._draw(1050, 300, seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert [len(chunk) for chunk in drawn[0]] == [100] * 10 + [50]
    assert sum(map(sum, drawn[0])) == 300
    assert all(10 < sum(chunk) < 50 for chunk in drawn[0][:10])


@pytest.mark.fault("F13")
def test_no_list_of_pieces_stands_beside_the_model(tmp_path):
    learn_subwords(write_train(tmp_path / "corpus"), PLAIN, settings(), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["subwords.json", "subwords.model"]


@pytest.mark.fault("F14")
def test_learning_repeats_bit_for_bit_and_follows_the_seed(tmp_path):
    corpus = write_train(tmp_path / "corpus")
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        learn_subwords(corpus, PLAIN, settings(sample=100, seed=seed), tmp_path / name)
    one, again, other = (sha256(tmp_path / name / "subwords.model") for name in ("one", "again", "other"))
    assert one == again != other


@pytest.mark.fault("F14")
def test_a_sample_holds_both_languages(tmp_path):
    learn_subwords(write_train(tmp_path / "corpus"), PLAIN, settings(sample=200), tmp_path / "out")
    assert UNK not in Subwords(tmp_path / "out" / "subwords.model").encode(["bado badö"])[0]
    assert json.loads((tmp_path / "out" / "subwords.json").read_text(encoding="utf-8"))["lines_used"] == 200


@pytest.mark.fault("F09")
def test_a_very_long_line_is_learned_from(tmp_path):
    corpus = write_train(tmp_path / "corpus", extra=["xyz " * 3000])
    learn_subwords(corpus, PLAIN, settings(), tmp_path / "out")
    assert UNK not in Subwords(tmp_path / "out" / "subwords.model").encode(["xyz"])[0]


@pytest.mark.fault("F11")
def test_too_large_a_vocabulary_names_the_largest_possible(tmp_path):
    corpus = write_train(tmp_path / "corpus", pairs=5)
    with pytest.raises(InputError, match=r"vocabulary is 5000, .* yields (\d+) at most") as error:
        learn_subwords(corpus, PLAIN, settings(5000), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    largest = int(str(error.value).split(" yields ")[1].split()[0])
    learn_subwords(corpus, PLAIN, settings(largest), tmp_path / "out")
    with pytest.raises(InputError):
        learn_subwords(corpus, PLAIN, settings(largest + 1), tmp_path / "out")


@pytest.mark.fault("F11")
def test_too_small_a_vocabulary_names_what_the_characters_take(tmp_path):
    with pytest.raises(InputError, match=r"vocabulary is 8, but the characters alone take \d+"):
        learn_subwords(write_train(tmp_path / "corpus"), PLAIN, settings(8), tmp_path / "out")


def test_sub_words_are_learned_from_prepared_text_and_say_how_it_was_prepared(tmp_path):
    corpus = write_train(tmp_path / "corpus", extra=["BADO, kilu!"] * 3)
    learn_subwords(corpus, TextSettings(lowercase=True, tokenise="moses"), settings(), tmp_path / "out")
    ids = Subwords(tmp_path / "out" / "subwords.model").encode(["bado , kilu !", "BADO"])
    assert UNK not in ids[0]
    assert UNK in ids[1]
    facts = json.loads((tmp_path / "out" / "subwords.json").read_text(encoding="utf-8"))
    assert facts["text"] == {"lowercase": True, "tokenise": "moses"}


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_the_character_that_the_trainer_reserves_is_learned_as_any_other(tmp_path, kind):
    corpus = write_train(tmp_path / "corpus", extra=["loading \u2585\u2585 done \u2585"] * 40)
    learn_subwords(corpus, PLAIN, settings(80, kind=kind), tmp_path / "out")
    subwords = Subwords(tmp_path / "out" / "subwords.model")
    ids = subwords.encode(["\u2585 bado \u2585\u2585"])
    assert UNK not in ids[0]
    assert subwords.pieces(ids[0])[0] == "\u2581\u2585"
    assert subwords.decode(ids) == ["\u2585 bado \u2585\u2585"]
