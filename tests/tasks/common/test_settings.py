"""params.yaml: every mistake is one line that names the key."""

import copy
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from tasks.common.settings import TreesOrigin, read_corpus, read_experiment, read_params
from tasks.common.yaml_reader import read_yaml
from tests.workspace import PRESETS, ROOT, corpus_settings, experiment_settings
from transformer.io.errors import InputError


def params() -> dict[str, Any]:
    return {
        "corpora": {"c": corpus_settings(Path("text"))},
        "presets": copy.deepcopy(PRESETS),
        "max_restarts": 1,
        "experiments": {"e": experiment_settings("c")},
        "layers": {
            "lengths": [8, 16, 32], "width": 8, "widths": [4, 8, 16], "length": 16, "d_k": 4, "kernel": 3,
            "neighbourhood": 4, "rounds": 1, "seconds": 0.1, "seed": 1,
        },
        "prices": {"currency": "EUR", "per_device_hour": {"GPU": 2.0}},
    }  # fmt: skip


def read(tmp_path: Path, values: dict[str, Any]) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values))
    read_params(path)


def test_the_projects_own_file_is_right() -> None:
    known = read_params(ROOT / "params.yaml")
    assert {"tiny", "multi30k", "multi30k-tiny", "news", "base", "big"} <= known.experiments.keys()
    assert {"software-ui-en-de", "multi30k", "news", "wmt14-en-de", "wmt14-en-fr"} <= known.corpora.keys()
    assert {"craft", "wsj", "wsj-semi", "wsj-sample"} <= known.corpora.keys()


def test_base_and_big_are_the_papers() -> None:
    experiments = read_params(ROOT / "params.yaml").experiments
    base, big = experiments["base"], experiments["big"]
    assert list(base.model.model_dump().values()) == [6, 512, 2048, 8, 64, 64, 0.1, 0.0, 0.0, "post", "sinusoidal"]
    assert list(big.model.model_dump().values()) == [6, 1024, 4096, 16, 64, 64, 0.3, 0.0, 0.0, "post", "sinusoidal"]
    assert (base.preset, base.changes, big.preset, big.changes) == ("base", {}, "big", {})
    for experiment, updates, averaged in ((base, 100_000, 5), (big, 300_000, 20)):
        training, search = experiment.training, experiment.search
        assert (training.updates, experiment.averaging.last) == (updates, averaged)
        assert (training.tokens_per_update, training.warmup, training.learning_rate_factor) == (25_000, 4000, 1.0)
        assert (training.beta2, training.label_smoothing) == (0.98, 0.1)
        assert (search.beam, search.penalty, search.length_penalty, search.extra_length) == (4, "paper", 0.6, 50)


def test_english_french_differs_in_bigs_dropout_and_the_vocabulary_only() -> None:
    params = read_params(ROOT / "params.yaml")
    for size, dropout in (("base", 0.1), ("big", 0.1)):
        german, french = params.experiments[size], params.experiments[f"{size}-en-fr"]
        model = german.model.model_copy(update={"dropout": dropout})
        assert (french.corpus, french.model, french.training) == ("wmt14-en-fr", model, german.training)
        assert (french.averaging, french.search) == (german.averaging, german.search)
    german, french = params.corpora["wmt14-en-de"], params.corpora["wmt14-en-fr"]
    assert (german.subwords.vocabulary, french.subwords.vocabulary) == (37_000, 32_000)
    assert german.test_set == french.test_set == "newstest2014"


def test_multi30k_tiny_is_as_published() -> None:
    params = read_params(ROOT / "params.yaml")
    experiment, text = params.experiments["multi30k-tiny"], params.corpora["multi30k-tiny"].text
    assert (text.lowercase, text.tokenise) == (True, "moses")
    model, training = experiment.model, experiment.training
    shape = (model.layers, model.d_model, model.d_ff, model.heads, model.d_k, model.d_v, model.dropout)
    assert shape == (4, 128, 256, 4, 32, 32, 0.3)
    peak = training.learning_rate_factor / (model.d_model * training.warmup) ** 0.5
    assert peak == pytest.approx(5e-3, rel=1e-4)
    assert (training.tokens_per_update, training.warmup, training.label_smoothing) == (8192, 2000, 0.1)
    search = experiment.search
    assert (experiment.averaging.last, search.beam, search.penalty, search.length_penalty) == (10, 5, "length", 1.0)


def test_the_treebank_is_the_papers_in_the_usual_division() -> None:
    corpora = read_params(ROOT / "params.yaml").corpora
    gold, semi = corpora["wsj"], corpora["wsj-semi"]
    assert (gold.subwords.vocabulary, semi.subwords.vocabulary) == (16_000, 32_000)
    for corpus in (gold, semi):
        origin = corpus.origin
        assert isinstance(origin, TreesOrigin) and origin.folder == "$WSJ" and origin.archive is None
        files = {section: f"{section:02}/wsj_{section:02}99.mrg" for section in range(25)}
        fitting = {
            split: [n for n, file in files.items() if any(fnmatchcase(file, one) for one in getattr(origin, split))]
            for split in ("train", "valid", "test")
        }
        assert fitting == {"train": list(range(2, 22)), "valid": [22], "test": [23]}
        assert corpus.text.trees == "vinyals"
    assert isinstance(gold.origin, TreesOrigin) and isinstance(semi.origin, TreesOrigin)
    assert not gold.origin.parsed and semi.origin.parsed


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("ee", {}, "sweeps.ee: no experiment 'ee'; did you mean 'e'"),
        ("e", {"corpus": "d"}, "sweeps.e.corpus is d, but that of the experiment is c"),
        ("e", {"preset": "other"}, "sweeps.e.preset is other, but that of the experiment is test"),
        ("e", {"last": [1, 4]}, "sweeps.e.last: 4 are averaged, but the training keeps 3"),
        ("e", {"last": []}, "sweeps.e.last: .*at least 1 item"),
        ("e", {"alphas": [1.0]}, "sweeps.e.alphas is not a setting"),
    ],
)
def test_a_mistake_in_a_sweep_is_named(tmp_path: Path, name: str, changes: dict[str, Any], message: str) -> None:
    sweep = {"corpus": "c", "preset": "test", "last": [1, 3], "beams": [1, 4], "length_penalties": [0.0, 0.6]}
    read(tmp_path, {**params(), "sweeps": {"e": sweep}})
    with pytest.raises(InputError, match=message):
        read(tmp_path, {**params(), "sweeps": {name: {**sweep, **changes}}})


def test_sweeps_hold_the_last_weights_alone_and_the_experiments_own_settings() -> None:
    """Table 3's base and big are not averaged; and a sweep without the experiment's own point compares with nothing."""
    known = read_params(ROOT / "params.yaml")
    assert {"tiny", "multi30k-tiny", "base", "big"} <= known.sweeps.keys()
    for name, sweep in known.sweeps.items():
        experiment = known.experiments[name]
        assert {1, experiment.averaging.last} <= set(sweep.last)
        assert experiment.search.beam in sweep.beams
        assert experiment.search.length_penalty in sweep.length_penalties


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("ee", {}, "attention.ee: no experiment 'ee'; did you mean 'e'"),
        ("e", {"far": "reads"}, "attention.e: far must be a word that stands in the sentence once"),
        ("e", {"pronoun": "she"}, "attention.e: pronoun must be a word that stands in the sentence once"),
    ],
)
def test_a_mistake_in_what_is_watched_is_named(
    tmp_path: Path, name: str, changes: dict[str, Any], message: str
) -> None:
    picture = {"sentence": "When she sings, she sees it.", "far": "sings", "pronoun": "it"}
    read(tmp_path, {**params(), "attention": {"e": picture}})
    with pytest.raises(InputError, match=message):
        read(tmp_path, {**params(), "attention": {name: {**picture, **changes}}})


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        (("experiments", "e", "changes"), "d_modell", 3, "changes.d_modell is not a setting; did you mean 'd_model'"),
        (("experiments", "e", "changes"), "layers", "six", "experiments.e.changes.layers: .*integer.*'six'"),
        (("experiments", "e", "changes"), "warmup", None, "experiments.e.changes.warmup"),
        (("experiments", "e", "changes"), "precision", "fp8", "experiments.e.changes.precision: .*'fp8'"),
        (("experiments", "e", "changes"), "beam", 5, "changes.beam: search and averaging are the preset's"),
        (("experiments", "e", "changes"), "last", 5, "changes.last: search and averaging are the preset's; add"),
        (("experiments", "e", "changes"), "seed", 5, "experiments.e.changes.seed: seed stands beside changes"),
        (("experiments", "e"), "seed", -1, "experiments.e.seed: .*it is -1"),
        (("experiments", "e"), "row", "A1", "experiments.e: table and row go together"),
        (("experiments", "e"), "model", {"layers": 6}, "experiments.e.model is not a setting"),
        (("experiments", "e"), "corpus", "cc", "experiments.e.corpus: no corpus 'cc'; did you mean 'c'"),
        (("experiments", "e"), "preset", "tets", "experiments.e.preset: no preset 'tets'; did you mean 'test'"),
        (("presets", "test", "training"), "warm_up", 1, "training.warm_up is not a setting; did you mean 'warmup'"),
        (("presets", "test", "training"), "seed", 1, "presets.test.training: seed is a key of the experiment"),
        (("experiments", "e", "changes"), "tokens_per_device", "all", "experiments.e.changes.tokens_per_device"),
        (("presets", "test", "averaging"), "last", 9, "experiments.e: averaging.last is 9, but the training keeps 3"),
        ((), "max_restarts", -1, "max_restarts: .*it is -1"),
        (("corpora", "c", "origin"), "kind", "file", "corpora.c.origin.kind: there is no kind 'file'"),
        (("corpora", "c", "origin"), "foldr", "x", "corpora.c.origin.foldr is not a setting; did you mean 'folder'"),
        (("corpora", "c", "origin"), "train", [], "corpora.c.origin.train"),
        (("corpora", "c", "origin"), "train", [["a", "b", "c"]], "corpora.c.origin.train.0: .*at most 2 items"),
        (("corpora", "c", "origin"), "train", ["a.en"], "origin.train.0: a.en is one file, so it must be a .tsv"),
        (("corpora", "c", "origin"), "train", ["a.tsv", "b.tsv.gz"], r"a.tsv holds both .* \[\[a.tsv\], \[b.tsv\]\]"),
        (("corpora", "c", "shards"), "buckets", [8, 4], "corpora.c.shards: buckets must rise"),
        (("corpora",), "a b", {}, "corpora.a b"),
        (("corpora", "c", "languages"), "target", "en", "corpora.c.languages: source and target must have different"),
        (("layers",), "widths", [8, 4, 16], "layers: widths must rise"),
        (("layers",), "length", 9, "layers: length must be one of lengths"),
        (("layers",), "neighbourhood", 6, "layers: widths must be multiples of d_k, and lengths of neighbourhood"),
        (("layers",), "kernel", 4, "layers: kernel must be odd"),
        (("prices",), "per_device_hour", {"GPU": -1.0}, "prices.per_device_hour.GPU: .*it is -1"),
        (("corpora", "c", "subwords"), "seed", -1, "corpora.c.subwords.seed: .*it is -1"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_the_key(
    tmp_path: Path, section: tuple[str, ...], key: str, value: Any, message: str
) -> None:
    values = params()
    place = values
    for part in section:
        place = place[part]
    place[key] = value
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ((), "test_set", "newstest14", "corpora.c: test_set: origin.sets has no 'newstest14'; did you mean"),
        (("origin",), "valid", "newstest213", "corpora.c.origin: valid: no set 'newstest213'; did you mean"),
        ((), "test_set", "newstest2013", "corpora.c: test_set and origin.valid are both newstest2013"),
        (("origin", "train"), 0, "europarl", "train: no 'europarl' among the archives of catalogue.yaml; did you"),
        (("origin",), "train", "europarl-v7", "corpora.c.origin.train: .*valid list"),
        (("languages",), "target", "cs", "train: europarl-v7 has no files of these languages, says catalogue"),
        (("origin", "train", 0), "members", ["a.en", "b.tsv"], "origin.train.0.members: b.tsv holds both sides"),
        (("origin", "train", 0), "checksum", "sha256:00", r"corpora.c.origin.train.0.checksum: .*'sha256:00'"),
        (("origin", "train", 0), "file", "../a.tgz", r"corpora.c.origin.train.0.file: .*'../a.tgz'"),
        (("origin", "train", 0), "urls", ["file:///etc/passwd"], "corpora.c.origin.train.0.urls.0"),
    ],
)  # fmt: skip
def test_so_is_one_in_an_archive(tmp_path: Path, section: tuple[Any, ...], key: str, value: Any, message: str) -> None:
    values = params()
    values["corpora"]["c"] = place = yaml.safe_load((ROOT / "params.yaml").read_text())["corpora"]["wmt14-en-de"]
    if section[1:] == ("train", 0):  # an archive of one's own, written out
        place["origin"]["train"] = [{
            "file": "a.tgz", "urls": ["https://example.org/a.tgz"], "bytes": "unknown", "checksum": "unknown",
            "members": ["a.en", "a.de"],
        }]  # fmt: skip
    for part in section:
        place = place[part]
    place[key] = value
    with pytest.raises(InputError, match=message):
        read(tmp_path, values)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        (("origin",), "gold_times", 0, "corpora.c.origin.gold_times"),
        (("origin",), "test", [], "corpora.c.origin.test"),
        (("origin",), "achive", None, "origin.achive is not a setting; did you mean 'archive'"),
        (("origin",), "archive", "nltk", "origin.archive: no 'nltk' among the treebanks of catalogue.yaml"),
        (("origin", "archive"), "folder", "../trees", "corpora.c.origin.archive.folder: .*'../trees'"),
        (("origin", "archive"), "members", ["a", "b"], "corpora.c.origin.archive.members is not a setting"),
        (("text",), "tokenise", "moses", "corpora.c: text.tokenise must be none .*: the words of a tree are its own"),
        (("text",), "trees", None, "corpora.c: origin.kind trees, text.trees and languages.target tree go together"),
        (("languages",), "target", "de", "corpora.c: origin.kind trees, text.trees and languages.target tree go"),
    ],
)  # fmt: skip
def test_so_is_one_in_a_treebank(tmp_path: Path, section: tuple[Any, ...], key: str, value: Any, message: str) -> None:
    values = params()
    values["corpora"]["c"] = place = yaml.safe_load((ROOT / "params.yaml").read_text())["corpora"]["wsj-sample"]
    if section == ("origin", "archive"):
        place["origin"]["archive"] = {
            "file": "a.zip", "urls": ["https://example.org/a.zip"], "bytes": "unknown", "checksum": "unknown",
            "folder": "trees",
        }  # fmt: skip
    for part in section:
        place = place[part]
    place[key] = value
    with pytest.raises(InputError, match=message):
        read(tmp_path, values)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    values = params()
    del values["presets"]["test"]["search"]["beam"]
    with pytest.raises(InputError, match=r"presets\.test\.search\.beam is missing"):
        read(tmp_path, values)


@pytest.mark.parametrize(
    "content", [b"a: [", b"- 1", b"", b"a: \xff"], ids=["not YAML", "a list", "empty", "not UTF-8"]
)
def test_a_file_that_is_no_mapping_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "params.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"params\.yaml") as caught:
        read_params(tmp_path / "params.yaml")
    assert "\n" not in str(caught.value)


def test_a_key_that_stands_twice_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("corpora: {}\nexperiments:\n  a: {}\n  a: {}\n")
    with pytest.raises(InputError, match="line 3: 'a' stands twice"):
        read_params(path)


def test_a_merge_of_several_sections_is_refused_since_dvc_would_read_it_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("corpora: &a {x: 1}\npresets: &b {x: 2}\nexperiments:\n  <<: [*a, *b]\n")
    with pytest.raises(InputError, match="line 4: `<<` takes one section"):
        read_params(path)


@pytest.mark.parametrize(
    ("line", "ours", "dvcs"),
    [
        ("updates: 02400", "1280", "2400"),
        ("updates: 40:00", "2400", "'40:00'"),
        ("compile: yes", "True", "'yes'"),
        ("compile: OFF", "False", "'OFF'"),
        ("updates: 1e3", "'1e3'", "1000.0"),
        ("updates: 0o17", "'0o17'", "15"),
        ("updates: [1, &n 017]", "15", "17"),
        ("on: 1", "True", "'on'"),
    ],
)
def test_what_dvc_reads_otherwise_is_refused_with_key_and_line(tmp_path: Path, line: str, ours: str, dvcs: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f'experiments:\n  e: {{lines: "017"}}\n  e2:\n    training:\n      {line}\n')
    key, text = line.partition(": ")[0], {"[1, &n 017]": "017", "1": "on"}.get(line.partition(": ")[2])
    said = (
        f"line 5: experiments.e2.training.{key}: {text or line.partition(': ')[2]} is {ours} by the rules of YAML 1.1"
    )
    with pytest.raises(InputError, match=re.escape(f"{said} and {dvcs} by those of 1.2")):
        read_params(path)


@pytest.mark.parametrize("value", ["2024-13-01", "0x_", "0b_"])
def test_what_a_parser_cannot_make_a_value_of_is_one_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f"a: {value}\n")
    with pytest.raises(InputError, match=r"params\.yaml: not valid YAML"):
        read_yaml(path)


def test_what_both_parsers_read_alike_is_read(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(
        "a: &a {i: 10_000, hex: 0x1F, f: .5, t: true, n: ~, none: , s: 'yes', date: 2001-01-01, v: 1.2.3}\n"
        "m: {<<: *a, i: -1}\n"
        "text: two words\n  and more\n\n  - of them\nself: &s [*s]\n"
    )
    read = read_yaml(path)
    with path.open() as file:
        assert repr(read) == repr(yaml.safe_load(file))
    assert repr(read) == repr(YAML(typ="safe").load(path))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, value: float) -> None:
    values = params()
    values["experiments"]["e"]["changes"]["learning_rate_factor"] = value
    with pytest.raises(InputError, match=r"experiments.e.changes.learning_rate_factor: .*finite number"):
        read(tmp_path, values)
    values = params()
    values["prices"]["per_device_hour"]["GPU"] = value
    with pytest.raises(InputError, match=r"prices.per_device_hour.GPU: .*finite number"):
        read(tmp_path, values)


def test_an_unknown_name_brings_the_nearest() -> None:
    path = ROOT / "params.yaml"
    with pytest.raises(InputError, match="no experiment 'tinny'; did you mean 'tiny'"):
        read_experiment("tinny", path=path)
    with pytest.raises(InputError, match="no corpus 'multi30'; did you mean 'multi30k'"):
        read_corpus("multi30", path=path)


def test_only_the_sections_asked_for_can_be_read() -> None:
    settings = read_experiment("tiny", "model", path=ROOT / "params.yaml")
    assert settings.model.layers > 0
    with pytest.raises(AttributeError):
        _ = settings.training
