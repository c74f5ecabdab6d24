"""Treebanks in the layouts of their publishers; the sentences are our own, those of the tiny grammar at random."""

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow.dataset
import pytest

from tasks.cleaning.rules import Cleaner
from tasks.common.settings import Cleaning, Languages, ShardSettings, SubwordSettings, TreesOrigin, read_params
from tasks.corpus import write_corpus
from tasks.origins.reader import read_origin
from tasks.origins.treebank import find_treebank, own_folder, read_treebank
from tasks.shards import write_shards
from tasks.subwords import learn_subwords
from tests.file_server import FileServer
from tests.packing import pack, pack_zip
from tests.workspace import ROOT
from transformer.io.errors import InputError
from transformer.settings import TextSettings
from transformer.text.subwords import Subwords
from transformer.text.trees import closes, linearise, opens, read_brackets, restore, write_brackets

TEA = "(TOP (S (NP (NNP Ann)) (VP (VBZ drinks) (NP (NN tea))) (. .)))"
CAKE = "(TOP (NP (NN cake)))"
DRINKS, CAKES = ("Ann drinks tea .", TEA), ("cake", CAKE)
WHOLE = Cleaning(max_characters=30_000, max_words=None, max_ratio=None, drop=[])


def origin(trees, **changes):
    values = {"kind": "trees", "folder": str(trees), "terms": "ours", "train": ["train/*"], "valid": ["valid/*"]}
    return TreesOrigin(**{**values, "test": ["test/*"], "parsed": [], "gold_times": 1, **changes})


def write(folder, files):
    """Each split's other files hold CAKE, unless they are among `files`."""
    for name, content in {"valid/v.mrg": CAKE, "test/t.mrg": CAKE, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder


def read(folder, content, name="train/a.mrg"):
    """Pairs of train, and what was noted."""
    texts = read_treebank(origin(write(folder, {name: content})))
    pairs = list(texts.pairs["train"])
    assert texts.dropped["no tree"] == len(texts.notes)
    return pairs, texts.notes


@pytest.mark.fault("F01")
@pytest.mark.fault("F31")
@pytest.mark.parametrize(
    "content",
    [
        TEA,
        f"{TEA}\n",
        f"\n\n{TEA}\r\n\r\n",
        TEA.removeprefix("(TOP ").removesuffix(")"),
        TEA.replace("(TOP ", "( "),
        TEA.replace("(TOP ", "("),
        TEA.replace("(TOP", "(ROOT"),
        f"( {TEA})",
        f"((S1 {TEA}))",
        "(\n(S (NP (NNP Ann)) (VP (VBZ drinks) (NP (NN tea))) (. .))\n)\n",
        "( (S\n    (NP-SBJ-1 (NNP Ann) )\n    (VP (VBZ drinks)\n      (NP (NN\n tea) ))\n    (. .) ))\n",
        "  (S\n    (NP=2 (NNP Ann))\n    (VP|S (VBZ drinks) (NP-2 (NN tea)))\n    (. .))\n",
        "( (S (NP-SBJ (NNP Ann)) (VP (VBZ drinks) (NP (NN tea)) (PP (-NONE- *T*-1)) (SBAR (-NONE- 0) (S (-NONE- *)))) "
        "(. .)) )",
        f"*x* a comment (S (NP\n; of (\n  # several\n%% kinds\n{TEA}\n# at the end",
        b"\xef\xbb\xbf" + TEA.encode(),
        TEA.replace("(NP (NN", "\ufeff(NP (NN\ufeff").replace("tea", "t\ufeffea"),
        f"\ufeff# joined\n\ufeff{TEA}\n\ufeff",
    ],
)
def test_a_tree_is_read_however_it_is_written(tmp_path: Path, content: str | bytes) -> None:
    assert read(tmp_path, content) == ([DRINKS], [])


@pytest.mark.parametrize("name", ["a.mrg", "a.tree", "a.parse", "a.mrg.gz", "deep/er/a.tree.gz", "a"])
def test_files_of_any_name_plain_or_packed(tmp_path, name):
    assert read(tmp_path, f"{TEA}\n{CAKE}", f"train/{name}") == ([DRINKS, CAKES], [])


def test_several_trees_on_a_line(tmp_path):
    content = f"{TEA} {CAKE}{TEA}\n{CAKE} (TOP (NP\n (NN cake))) {CAKE}\n{CAKE} then cake\n{CAKE}"
    pairs, notes = read(tmp_path, content)
    assert pairs == [DRINKS, CAKES, DRINKS, CAKES, CAKES, CAKES, CAKES, CAKES]
    assert notes == ["train/a.mrg, line 4: 'then' stands where a bracket must"]


@pytest.mark.fault("F31")
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("(TOP (NP (NN cake))", "1 bracket(s) not closed"),
        ("(TOP\n  (NP\n    (NN cake))", "1 bracket(s) not closed"),
        ("(TOP (NP (NN cake))))", "something follows the tree"),
        ("(TOP (NP (NN cake)) (. .))) (. .)", "something follows the tree"),
        ("(TOP (NP (NN hot cake)))", "'hot' stands where a bracket must"),
        ("(TOP (NP ) (NN cake))", "the bracket NP is empty"),
        ("(TOP (NP (-NONE- *)))", "only traces"),
        ("(TOP (NP (NN \u200b)))", "a word or tag of invisible characters"),
        ("(TOP (NP (\u2581 cake)))", "a word or tag of invisible characters"),
        (b"(TOP (NP (NN caf\xe9)))", "damaged characters, or not UTF-8"),
        (b"(TOP (N\xe9 (NN cake)))", "damaged characters, or not UTF-8"),
        ("cake", "'cake' stands where a bracket must"),
        (")", "a bracket is closed that was not opened"),
    ],
)
def test_what_is_no_tree_is_noted_and_takes_nothing_with_it(tmp_path, broken, reason):
    broken = broken if isinstance(broken, bytes) else broken.encode()
    content = b"\n".join([TEA.encode(), b"# next", broken, CAKE.encode(), TEA.encode()])
    assert read(tmp_path, content) == ([DRINKS, CAKES, DRINKS], [f"train/a.mrg, line 3: {reason}"])


def test_trees_over_lines_without_indentation(tmp_path):
    """Told apart by their outermost bracket; one that is not closed costs no other."""
    flat, cake = TEA.replace(" (", "\n("), CAKE.replace(" (", "\n(")
    pairs, notes = read(tmp_path, f"{flat}\n{cake}\n{flat[:-1]}\n{cake}\n")
    assert pairs == [DRINKS, CAKES, CAKES]
    assert [note.partition(":")[2] for note in notes] == [" 1 bracket(s) not closed"]


def test_a_tree_that_is_not_closed_at_the_end_of_a_file_is_noted(tmp_path):
    pairs, notes = read(tmp_path, f"{TEA}\n  (TOP (NP (NN\n  cake)")
    assert pairs == [DRINKS]
    assert notes == ["train/a.mrg, line 2: 2 bracket(s) not closed"]


def test_missing_brackets_lose_no_other_tree_where_all_lines_are_indented(tmp_path):
    pairs, notes = read(tmp_path, f"  {TEA}\n  {CAKE[:-1]}\n  {CAKE}\n  {CAKE})\n  {TEA}\n")
    assert pairs == [DRINKS, CAKES, DRINKS]
    assert [note.partition(":")[0] for note in notes] == ["train/a.mrg, line 2", "train/a.mrg, line 4"]


@pytest.mark.fault("F31")
def test_words_are_as_one_writes_them(tmp_path):
    content = r"(TOP (NP (CD 1\/2) (-LRB- -LRB-) (NN [b\*]) (-RSB- -RSB-) (`` ``) (NN c&d) (NN s\x) (: --)))"
    [(source, tree)], _ = read(tmp_path, content)
    assert source == r"1/2 ( [b*] ] `` c&d s\x --"
    assert tree == r"(TOP (NP (CD 1/2) (-LRB- -LRB-) (NN -LSB-b*-RSB-) (-RSB- -RSB-) (`` ``) (NN c&d) (NN s\x) (: --)))"


PARTS = [
    "a", "XX", "-", "-LRB-", "-LRB", "LRB-", "-RSB-", "[", "{", "&amp;", "&lt;", "&#91;", "&#124;", "&quot;", "&", ";",
    "\u00a0", "\u2581", "\u200b", "\u00ad", "\ufeff", "\x1c", "\x85", "\u2028", "\u0301", "e\u0301", "\\/", "\\*", "=",
]  # fmt: skip


@pytest.mark.fault("F31")
@pytest.mark.fault("F04")
@pytest.mark.parametrize("seed", range(10))
def test_cleaning_never_parts_words_from_their_tree(tmp_path, seed):
    draw = random.Random(seed)
    some = ["".join(draw.choices(PARTS, k=draw.randint(1, 4))) for _ in range(150)]
    groups = [draw.choices(some, k=3) for _ in range(50)]
    lines = [f"(S ({label} ({tag} {word}) (NN b)) (NN {word}))" for label, tag, word in groups]
    pairs, notes = read(tmp_path, "\n".join(lines))
    assert len(pairs) + len(notes) == 50 and len(pairs) > 30
    cleaned = Cleaner(WHOLE, {})(pairs)
    assert cleaned.read == len(pairs) == len(cleaned.words_N2)
    sides = [side.decode().split("\n")[:-1] for side in (cleaned.source, cleaned.target)]
    for (source, tree), before in zip(zip(*sides, strict=True), pairs, strict=True):
        assert read_brackets(tree).words == source.split(" ")
        assert read_brackets(before[1]).words == before[0].split(" ")
        assert len(source.split(" ")) == 3


JOINED = {"all.tree.gz": "\n".join([TEA, CAKE, CAKE, TEA, CAKE]), "all.files.tsv": "b.tree\t2\na.tree\t1\nc.tree\t2\n"}


def test_a_joined_file_stands_for_its_parts(tmp_path):
    own = origin(write(tmp_path, JOINED), train=["*.tree"], valid=["a.tree"], test=["c.tree"])
    texts = read_treebank(own)
    assert {split: list(pairs) for split, pairs in texts.pairs.items()} == {
        "train": [DRINKS, CAKES], "valid": [CAKES], "test": [DRINKS, CAKES]
    }  # fmt: skip
    assert [source["file"] for source in texts.sources] == ["all.tree.gz"] * 3


@pytest.mark.parametrize("table", ["b.tree\t2\na.tree\t1\nc.tree\t1\n", "b.tree\t2\na.tree\t1\nc.tree\t3\n"])
def test_a_table_that_does_not_fit_is_refused_since_held_out_trees_could_be_trained_on(tmp_path, table):
    own = origin(write(tmp_path, JOINED | {"all.files.tsv": table}), train=["b.tree"], valid=["a.tree"], test=["c.*"])
    with pytest.raises(InputError, match=r"all\.tree\.gz: 5 trees, but \*\.files\.tsv beside it says [46]: mend one"):
        list(read_treebank(own).pairs["train"])


@pytest.mark.parametrize("table", ["b.tree two\n", "b.tree\ttwo\n"])
def test_what_is_no_table_is_named(tmp_path, table):
    own = origin(write(tmp_path, JOINED | {"all.files.tsv": table}))
    with pytest.raises(InputError, match=r"all\.files\.tsv: not a table of file names and numbers of trees"):
        read_treebank(own)


def test_held_out_files_are_never_trained_on(tmp_path):
    endings = ("01.mrg", "02.mrg.gz")
    files = [f"{section:02}/wsj_{section:02}{ending}" for section in range(25) for ending in endings]
    own = read_params(ROOT / "params.yaml").corpora["wsj"].origin.model_copy(update={"folder": str(tmp_path)})
    write(tmp_path, dict.fromkeys([*files, "02/.wsj_0203.mrg"], TEA))
    found = find_treebank(own, tmp_path)
    names = {split: [str(file.path.relative_to(tmp_path)) for file in of_split] for split, of_split in found.items()}
    assert names == {"train": files[4:44], "valid": files[44:46], "test": files[46:48], "parsed": []}
    wider = find_treebank(own.model_copy(update={"train": ["*"], "parsed": ["2*/*.mrg"]}), tmp_path)
    assert len(wider["train"]) == 50 - 4 + 2  # and the files of `write`
    assert [file.path.parent.name for file in wider["parsed"]] == ["20", "20", "21", "21", "24", "24"]


def test_parsed_trees_stand_beside_those_of_people(tmp_path, monkeypatch):
    monkeypatch.setenv("PARSED", str(tmp_path / "elsewhere"))
    write(tmp_path / "own", {"train/a.mrg": TEA, "more/1.gz": f"{CAKE}\n{CAKE[:-1]}\n{CAKE}"})
    write(tmp_path / "elsewhere", {"2.gz": CAKE})
    texts = read_treebank(origin(tmp_path / "own", parsed=["more/*", "$PARSED/*.gz"], gold_times=2))
    assert list(texts.pairs["train"]) == [DRINKS, DRINKS, CAKES, CAKES, CAKES]
    assert texts.notes == ["more/1.gz, line 2: 1 bracket(s) not closed"]
    assert [source["split"] for source in texts.sources] == ["train", "valid", "test", "parsed", "parsed"]
    monkeypatch.delenv("PARSED")
    with pytest.raises(InputError, match=r"origin\.parsed is .*but the environment variable PARSED is not set"):
        read_treebank(origin(tmp_path / "own", parsed=["$PARSED/*.gz"]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folder": "$NO_TREES/wsj"}, r"origin\.folder is '\$NO_TREES/wsj', but the environment variable NO_TREES"),
        ({"folder": "no/trees"}, r"no/trees: no such folder \(origin\.folder\)"),
        ({"test": ["23/*.mrg", "x"]}, r"no file 23/\*\.mrg, x \(origin\.test\)"),
        ({"train": ["test/*"]}, r"no file test/\* \(origin\.train\)"),
        ({"parsed": ["more/*.gz"]}, r"no file more/\*\.gz \(origin\.parsed\)"),
    ],
)
def test_what_is_missing_is_one_line(tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        read_treebank(origin(write(tmp_path, {"train/a.mrg": TEA}), **changes))
    assert "\n" not in str(caught.value)


@pytest.mark.fault("F07")
def test_a_part_of_section_23_does_not_bear_its_name(tmp_path):
    own = origin(write(tmp_path, {"train/a.mrg": TEA}))
    texts = read_origin(own, Languages(source="en", target="tree"), "WSJ 23", 1000)
    with pytest.raises(InputError, match="test_set is WSJ 23, which has 2,416 pairs, but the text has 1"):
        list(texts.pairs["test"])


def settings(own):
    languages = Languages(source="en", target="tree")
    return SimpleNamespace(languages=languages, test_set="ours", origin=own, cleaning=WHOLE)


def test_the_corpus_says_what_was_left_out(tmp_path, capsys):
    write(tmp_path / "trees", {"train/a.mrg": "\n".join([TEA, *["(NP (N_N cake)"] * 30])})
    write_corpus("ours", settings(origin(tmp_path / "trees")), tmp_path / "ours", processes=1)
    facts = json.loads((tmp_path / "ours/corpus.json").read_text())
    assert facts["dropped"]["before splitting"] == {"no tree": 30} and len(facts["notes"]) == 30
    assert "ours: left out: 30 no tree; train/a.mrg, line 2: 1 bracket(s) not closed\n" in capsys.readouterr().err
    page = (tmp_path / "ours/README.md").read_text()
    assert page.count("\n- train/a.mrg, line ") == 20 and "and 10 more in corpus.json." in page
    assert (tmp_path / "ours/train.en").read_text() == DRINKS[0] + "\n"
    assert (tmp_path / "ours/train.tree").read_text() == TEA + "\n"
    write(tmp_path / "trees", {"train/a.mrg": "no tree"})
    with pytest.raises(
        InputError, match=r"nothing of train is left .*: 1 no tree; first: train/a\.mrg, line 1: 'no' stands"
    ):
        write_corpus("ours", settings(origin(tmp_path / "trees")), tmp_path / "other", processes=1)


GRAMMAR = {
    "S": [("NP", "VP"), ("NP", "VP", "PP"), ("S", "CC", "S")],
    "NP": [("DT", "NN"), ("DT", "JJ", "NN"), ("NP", "PP")],
    "VP": [("VBZ", "NP"), ("VBZ",), ("VP", "PP")],
    "PP": [("IN", "NP")],
}
LEXICON = {
    "DT": ["the", "a"], "NN": ["cook", "kettle", "XX", "(", "S"], "JJ": ["hot", "old", "[sic]"], "IN": ["in", "with"],
    "VBZ": ["sings", "boils"], "CC": ["and"],
}  # fmt: skip


def grow(draw, label, depth=0):
    """A tree of the grammar in brackets; the deeper it is, the more often by its first rule."""
    if label in LEXICON:
        word = draw.choice(LEXICON[label])
        return f"({label} {word.replace('(', '-LRB-')})"
    rules = GRAMMAR[label]
    rule = rules[0] if draw.random() < depth / 6 else draw.choice(rules)
    return f"({label} {' '.join(grow(draw, part, depth + 1) for part in rule)})"


@pytest.mark.fault("F31")
@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
@pytest.mark.parametrize("form", ["vinyals", "tensor2tensor", "words"])
def test_from_a_treebank_to_shards_and_back(tmp_path, form, kind):
    draw = random.Random(1)
    grown = {name: [grow(draw, "S") for _ in range(n)] for name, n in (("train", 300), ("valid", 40), ("test", 40))}
    write(tmp_path, {f"{name}/{name}.mrg": "\n".join(f"( {tree} )" for tree in some) for name, some in grown.items()})
    own = origin(tmp_path, train=["train/*"], valid=["valid/valid.mrg"], test=["test/test.mrg"])
    write_corpus("ours", settings(own), tmp_path / "corpus", processes=1)
    text = TextSettings(lowercase=False, tokenise="none", trees=form)
    learned = SubwordSettings(kind=kind, vocabulary=80, sample=1000, seed=1)
    learn_subwords(tmp_path / "corpus", text, learned, tmp_path / "subwords")
    bounds = ShardSettings(max_length=400, max_ratio=12.0, buckets=[50, 100, 400], rows_per_shard=100)
    write_shards(tmp_path / "corpus", tmp_path / "subwords", bounds, tmp_path / "shards")
    model = Subwords(tmp_path / "subwords/subwords.model")
    tables = {split: pyarrow.dataset.dataset(tmp_path / "shards" / split).to_table() for split in ("train", "valid")}
    assert [table.num_rows for table in tables.values()] == [300, 40]
    for split, row in ((split, row) for split, table in tables.items() for row in table.to_pylist()):
        tree = read_brackets(grown[split][row["line"] - 1])
        source, target = model.decode([row["source"], row["target"]])
        symbols = target.split(" ")
        brackets = sum(opens(symbol) or closes(symbol) for symbol in symbols)
        assert len(row["target"]) == brackets + (len(row["source"]) if form == "words" else len(tree.words))
        assert symbols == linearise(tree, form)
        restored, repaired = restore(symbols, source.split(" "), form)
        assert not repaired
        assert (restored.words, restored.phrases) == (tree.words, tree.phrases)
        assert restored.tags == (tree.tags if form == "tensor2tensor" else ["XX"] * len(tree.tags))


CRAFT = {"CRAFT-5.0.2/structural-annotation/treebank/penn/1.tree": f"( {TEA[5:-1]} )\n".encode()}
CRAFT |= {name.replace("1.", f"{n}."): CAKE.encode() for name in CRAFT for n in (14691534, 15850489)}
CRAFT |= {"CRAFT-5.0.2/structural-annotation/dependency/1.conllu": b"1\n", "CRAFT-5.0.2/README.md": b"CRAFT\n"}
NLTK = {f"treebank/combined/wsj_{number:04}.mrg": TEA.encode() for number in range(1, 200)}
NLTK |= {"treebank/combined/README": b"about (these\n", "treebank/parsed/wsj_0001.prd": b"(S"}


@pytest.mark.parametrize(
    ("corpus", "content", "sizes"),
    [("craft", pack(CRAFT), [1, 1, 1]), ("wsj-sample", pack_zip(NLTK), [159, 20, 20])],
)
def test_a_published_treebank_is_fetched_where_its_folder_is_not_there(tmp_path, monkeypatch, corpus, content, sizes):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRO_DATA", raising=False)
    own = read_params(ROOT / "params.yaml").corpora[corpus].origin
    with FileServer({own.archive.file: content}) as server:
        server.cuts = [100]
        monkeypatch.setattr("tasks.origins.downloads.PAUSES", (0,))
        there = own.archive.model_copy(update={"urls": [server.url(own.archive.file)]})
        own = own.model_copy(update={"archive": there})
        assert own_folder(own) is None
        texts = read_treebank(own)
        assert len(server.asked) == 2 and server.asked[1][1] == "bytes=100-"
        assert [len(list(texts.pairs[split])) for split in ("train", "valid", "test")] == sizes
        assert texts.notes == []
        assert texts.sources[0]["file"].startswith(f"{own.archive.file}: ")
        assert (tmp_path / f"data/sources/archives/{own.archive.file}.json").is_file()
        read_treebank(own)
        monkeypatch.setenv("REPRO_DATA", str(tmp_path / "elsewhere"))
        read_treebank(own)
        assert len(server.asked) == 2
    folder = tmp_path / own.folder.replace("$REPRO_DATA", "elsewhere")
    write(folder, dict.fromkeys(["0.tree", "14691534.tree", "15850489.tree"], TEA))
    write(folder, dict.fromkeys(["wsj_0001.mrg", "wsj_0140.mrg", "wsj_0170.mrg"], TEA))
    assert own_folder(own) == folder
    assert read_treebank(own).sources[0]["file"] in ("0.tree", "wsj_0001.mrg")


def test_the_command_ends_with_one_line(tmp_path):
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    command, place = [sys.executable, "-m", "tasks.corpus", "wsj"], {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    line = "error: corpus wsj: origin.folder is '$WSJ', but the environment variable WSJ is not set\n"
    assert run.stderr == line


# Words without traces. A count by the white space of Unicode has 21 fewer in craft, whose words hold some of it.
REAL = {
    "craft/craft-penn.tree.gz": (30_830, 793_651),
    "nltk-wsj/wsj_0001-0199.mrg.gz": (3914, 94_084),
    "gum/gum-const.ptb.gz": (14_597, 251_725),
    "handparsed/stanford-handparsed.mrg.gz": (519, 4197),
}


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no treebank: REPRO_DATA is not set")
@pytest.mark.fault("F31")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if size[0] > 5000 else name for name, size in REAL.items()]
)
def test_all_of_a_real_treebank_is_read(tmp_path, name):
    real = Path(os.environ["REPRO_DATA"]) / "treebank" / name
    write(tmp_path, {})
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / real.name).symlink_to(real)
    texts = read_treebank(origin(tmp_path))
    pairs = list(texts.pairs["train"])
    assert texts.notes == []
    assert (len(pairs), sum(source.count(" ") + 1 for source, _ in pairs)) == REAL[name]
    for source, tree in pairs:
        found = read_brackets(tree)
        assert found.words == source.split(" ")
        assert write_brackets(found) == tree
        assert "-NONE-" not in found.tags


@pytest.mark.skipif("REPRO_DATA" not in os.environ, reason="this machine has no treebank: REPRO_DATA is not set")
def test_the_real_files_are_divided_as_params_yaml_says():
    corpora = read_params(ROOT / "params.yaml").corpora
    for name, sizes in (("craft", {"train": 85, "valid": 4, "test": 8}), ("wsj-sample", [3316, 303, 295])):
        own = corpora[name].origin
        found = find_treebank(own, own_folder(own))
        if name == "craft":
            assert {split: len(found[split][0].parts) for split in sizes} == sizes
        else:
            assert [sum(map(len, found[split][0].parts)) for split in ("train", "valid", "test")] == sizes
