import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import datasets
import pandas
import psutil
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import yaml

from tasks import shards as stage
from tasks.common.paths import CORPORA, SHARDS, SUBWORDS
from tasks.common.settings import ShardSettings, SubwordSettings
from tasks.encoding import block_writer
from tasks.shards import write_shards
from tasks.subwords import learn_subwords
from tests.workspace import PRESETS, ROOT, corpus_settings, environment
from transformer.io.errors import InputError
from transformer.io.files import sha256
from transformer.io.shards import read_split, unpack
from transformer.settings import TextSettings
from transformer.text.subwords import UNK, Subwords

WORDS = ["red", "green", "blue", "door", "house", "tree", "is", "has", "a", "the"]
TRAIN = [
    (" ".join(WORDS[i % 10] for i in range(n, n + 1 + n % 12)), " ".join(["rot"] * (1 + n % 6))) for n in range(60)
]
VALID = [("the red door", "rot rot"), ("Δ tree", "rot")]


def write_corpus(folder, train=TRAIN, valid=VALID):
    folder.mkdir()
    for split, pairs in (("train", train), ("valid", valid)):
        for side, code in enumerate(("en", "de")):
            (folder / f"{split}.{code}").write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    facts = {"languages": {"source": "en", "target": "de"}, "pairs": {"train": len(train), "valid": len(valid)}}
    (folder / "corpus.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder


def settings(max_ratio=100.0, rows_per_shard=7):
    return ShardSettings(max_length=16, max_ratio=max_ratio, buckets=[4, 8, 16], rows_per_shard=rows_per_shard)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "ours")


@pytest.fixture(scope="module")
def subwords(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("subwords") / "ours"
    plain = TextSettings(lowercase=False, tokenise="none")
    learn_subwords(corpus, plain, SubwordSettings(kind="bpe", vocabulary=50, sample=1000, seed=1), folder)
    return folder


@pytest.fixture
def shards(corpus, subwords, tmp_path):
    write_shards(corpus, subwords, settings(), tmp_path / "ours")
    return tmp_path / "ours"


def manifest(shards, split="train"):
    return json.loads((shards / "manifest.json").read_text(encoding="utf-8"))["splits"][split]


def read_shards(shards, split):
    unpack(shards, shards.with_name("unpacked"))
    return read_split(shards.with_name("unpacked") / split)


def test_every_pair_is_there_as_the_ids_of_its_lines(shards, subwords):
    model = Subwords(subwords / "subwords.model")
    expected = sorted(zip(model.encode(a for a, _ in TRAIN), model.encode(b for _, b in TRAIN), strict=True))
    pairs = read_shards(shards, "train")
    assert sorted((pairs.source(i).tolist(), pairs.target(i).tolist()) for i in range(len(pairs))) == expected
    assert pairs.source_lengths.tolist() == [len(pairs.source(i)) for i in range(60)]
    assert pairs.target_lengths.sum() == len(pairs.target_tokens) == manifest(shards)["target_tokens"]


def test_a_bucket_holds_only_its_lengths(shards):
    for path in (shards / "train").rglob("*.parquet"):
        bound = int(path.parent.name.removeprefix("bucket="))
        lengths = [max(len(row["source"]), len(row["target"])) for row in pq.ParquetFile(path).read().to_pylist()]
        assert {4: 0, 8: 4, 16: 8}[bound] < min(lengths) <= max(lengths) <= bound


@pytest.mark.fault("F18")
def test_the_manifest_lists_each_shard_with_rows_and_hash(shards):
    files = manifest(shards)["files"]
    assert sorted(shards / file["path"] for file in files) == sorted((shards / "train").rglob("*.parquet"))
    assert all(file["sha256"] == sha256(shards / file["path"]) for file in files)
    assert [file["rows"] for file in files] == [pq.read_metadata(shards / file["path"]).num_rows for file in files]
    assert max(file["rows"] for file in files) <= 7
    assert sum(file["rows"] for file in files) == manifest(shards)["pairs"] == 60


@pytest.mark.fault("F18")
def test_the_schema_is_set_on_purpose(shards):
    schema = pq.read_schema(next((shards / "train").rglob("*.parquet")))
    assert schema.names == ["source", "target", "line"]
    assert schema.field("source").type == schema.field("target").type == pa.list_(pa.int32())
    assert schema.field("line").type == pa.int64()


def test_pandas_pyarrow_and_datasets_read_the_same(shards, tmp_path):
    by_pandas = pandas.read_parquet(shards / "train")
    by_pyarrow = pyarrow.dataset.dataset(shards / "train", partitioning="hive").to_table()
    by_datasets = datasets.load_dataset(
        "parquet",
        data_files={split: f"{shards}/{split}/**/*.parquet" for split in ("train", "valid")},
        cache_dir=str(tmp_path / "cache"),
    )
    lines = set(range(1, 61))
    assert set(by_pandas["line"]) == set(by_pyarrow["line"].to_pylist()) == set(by_datasets["train"]["line"]) == lines
    assert set(by_pandas["bucket"].astype(int)) == set(by_pyarrow["bucket"].to_pylist()) == {4, 8, 16}
    one = {row["line"]: row["source"] for row in by_pyarrow.to_pylist()}
    assert {row["line"]: row["source"] for row in by_datasets["train"]} == one
    assert {line: list(ids) for line, ids in zip(by_pandas["line"], by_pandas["source"], strict=True)} == one
    assert len(by_datasets["valid"]) == 2


def test_the_same_input_gives_the_same_bytes(corpus, subwords, shards, tmp_path):
    write_shards(corpus, subwords, settings(), tmp_path / "again")
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (shards / "manifest.json").read_bytes()


def test_any_number_of_processes_writes_the_same_bytes(corpus, subwords, shards, tmp_path):
    write_shards(corpus, subwords, settings(), tmp_path / "again", processes=2)
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (shards / "manifest.json").read_bytes()
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == ["manifest.json", "train", "valid"]


def test_small_batches_and_row_groups_change_no_pair(corpus, subwords, shards, tmp_path, monkeypatch):
    monkeypatch.setattr(block_writer, "BATCH", 3)
    monkeypatch.setattr(block_writer, "ROW_GROUP", 2)
    write_shards(corpus, subwords, settings(), tmp_path / "other")
    assert max(pq.read_metadata(path).num_row_groups for path in tmp_path.glob("other/train/*/*")) > 1
    for path in shards.glob("train/*/*"):
        assert pq.ParquetFile(tmp_path / "other" / path.relative_to(shards)).read() == pq.ParquetFile(path).read()


class Stopped(Exception):
    pass


def raise_stopped():
    raise Stopped


def stopped_after(blocks, monkeypatch):
    """Blocks after so many end in an error, with a shard half written; returns the numbers of those begun."""
    begun = []
    write_json = block_writer.write_json

    def stop(path, value):
        begun.append(path.stem)
        if len(begun) > blocks:
            next(path.parents[1].glob(f"*/{value['files'][0]['path']}")).write_bytes(b"half")
            raise Stopped
        write_json(path, value)

    monkeypatch.setattr(block_writer, "write_json", stop)
    return begun


@pytest.mark.fault("F18")
def test_a_stage_that_was_stopped_leaves_nothing_and_goes_on_with_the_next_block(
    corpus, subwords, shards, tmp_path, monkeypatch
):
    out = tmp_path / "stopped"
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stopped_after(4, patch)
        write_shards(corpus, subwords, settings(), out)
    assert not out.exists()
    with monkeypatch.context() as patch:
        begun = stopped_after(100, patch)
        write_shards(corpus, subwords, settings(), out)
    assert begun == [*(f"train-{n:05d}" for n in range(4, 9)), "valid-00000"]
    assert (out / "manifest.json").read_bytes() == (shards / "manifest.json").read_bytes()
    files = [*manifest(out)["files"], *manifest(out, "valid")["files"]]
    assert all(file["sha256"] == sha256(out / file["path"]) for file in files)


def test_a_stage_that_was_stopped_when_all_blocks_were_done_does_none_again(
    corpus, subwords, shards, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr("transformer.io.files._take_place", lambda *_: raise_stopped())
        write_shards(corpus, subwords, settings(), tmp_path / "stopped")
    begun = stopped_after(0, monkeypatch)
    write_shards(corpus, subwords, settings(), tmp_path / "stopped")
    assert begun == []
    assert sorted(path.name for path in (tmp_path / "stopped").iterdir()) == ["manifest.json", "train", "valid"]
    assert (tmp_path / "stopped" / "manifest.json").read_bytes() == (shards / "manifest.json").read_bytes()


def test_a_stage_that_was_stopped_begins_anew_with_other_settings(corpus, subwords, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stopped_after(4, patch)
        write_shards(corpus, subwords, settings(), tmp_path / "ours")
    begun = stopped_after(100, monkeypatch)
    write_shards(corpus, subwords, settings(max_ratio=2.0), tmp_path / "ours")
    assert len(begun) == 10


def test_a_stage_that_was_stopped_begins_anew_with_other_code(corpus, subwords, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        stopped_after(4, patch)
        write_shards(corpus, subwords, settings(), tmp_path / "ours")
    monkeypatch.setattr(stage, "sha256", lambda path: "changed" if path.name == "preparation.py" else sha256(path))
    begun = stopped_after(100, monkeypatch)
    write_shards(corpus, subwords, settings(), tmp_path / "ours")
    assert len(begun) == 10


# The stage's command, with two processes for a small corpus.
# The stage in two processes. Once 20 blocks are done it waits while there is a file `wait`.
COMMAND = """
import time
from pathlib import Path
from tasks import shards

shards.WORTH_A_PROCESS, shards.usable_processors = 0, lambda: 2

class Writer(shards.BlockWriter):
    def __call__(self, block):
        while Path("wait").exists() and len(list(self.record(block).parent.glob("*.json"))) >= 20:
            time.sleep(0.01)
        return super().__call__(block)

shards.BlockWriter = Writer
if __name__ == "__main__":
    shards.main()
"""


@pytest.fixture
def project(subwords, tmp_path, monkeypatch):
    """A folder with a corpus of 100 blocks, in which the stage's command runs."""
    facts = {**corpus_settings(tmp_path), "languages": {"source": "en", "target": "de"}}
    facts["shards"] = settings(rows_per_shard=6).model_dump()
    params = {"corpora": {"ours": facts}, "presets": PRESETS, "max_restarts": 1, "experiments": {}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    for folder in (CORPORA, SUBWORDS):
        (tmp_path / folder).mkdir(parents=True)
    write_corpus(tmp_path / CORPORA / "ours", train=10 * TRAIN)
    (tmp_path / SUBWORDS / "ours").symlink_to(subwords)
    (tmp_path / "command.py").write_text(COMMAND)
    monkeypatch.chdir(tmp_path)


def test_a_corpus_that_there_is_not_is_a_line_with_the_nearest_name(project, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["shards", "our"])
    with pytest.raises(InputError, match="no corpus 'our'; did you mean 'ours'"):
        stage.main()


def begin():
    return subprocess.Popen([sys.executable, "command.py", "ours"], env=environment(PYTHONPATH=str(ROOT)))


@pytest.mark.fault("F18")
def test_a_command_that_was_killed_goes_on_where_it_was_and_leaves_no_process(project, subwords):
    Path("wait").touch()
    process, unfinished = begin(), SHARDS / ".ours.unfinished"
    while len(list(unfinished.glob("done/*.json"))) < 10:
        assert process.poll() is None
        time.sleep(0.05)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert len(workers) >= 2
    assert not psutil.wait_procs(workers, timeout=120)[1]
    done = [json.loads(path.read_text()) for path in unfinished.glob("done/*.json")]
    assert 10 <= len(done) < 100
    Path("wait").unlink()
    before = {
        file["path"]: (unfinished / "ours" / file["path"]).stat().st_mtime_ns for one in done for file in one["files"]
    }
    assert begin().wait(timeout=240) == 0
    assert {path: (SHARDS / "ours" / path).stat().st_mtime_ns for path in before} == before
    write_shards(CORPORA / "ours", subwords, settings(rows_per_shard=6), Path("unbroken"))
    assert Path("unbroken/manifest.json").read_bytes() == (SHARDS / "ours/manifest.json").read_bytes()


# Prints the most memory that this process has had, in MB.
MEMORY = """
import sys
from pathlib import Path
from tasks.common.settings import ShardSettings
from tasks.shards import write_shards
settings = ShardSettings(max_length=16, max_ratio=100.0, buckets=[4, 8, 16], rows_per_shard=20_000)
write_shards(Path("corpus"), Path(sys.argv[1]), settings, Path("shards"))
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(),
    reason="this machine has no /proc, which says how much memory was held at most",
)
def test_memory_does_not_grow_with_the_corpus(subwords, tmp_path):
    peaks = []
    for times in (1000, 4000):
        folder = tmp_path / str(times)
        folder.mkdir()
        write_corpus(folder / "corpus", train=times * TRAIN)
        found = subprocess.run(
            [sys.executable, "-c", MEMORY, str(subwords)],
            cwd=folder, env=environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(float(found.stdout))
    assert peaks[1] - peaks[0] < 5, peaks


def test_word_pieces_come_back_from_shards(corpus, tmp_path):
    plain = TextSettings(lowercase=False, tokenise="none")
    learn_subwords(corpus, plain, SubwordSettings(kind="wordpiece", vocabulary=50, sample=1000, seed=1), tmp_path / "w")
    write_shards(corpus, tmp_path / "w", settings(), tmp_path / "ours")
    pairs, model = read_shards(tmp_path / "ours", "train"), Subwords(tmp_path / "w" / "subwords.model")
    texts = [(pairs.source(i), pairs.target(i)) for i in range(len(pairs))]
    assert sorted(tuple(model.decode(pair)) for pair in texts) == sorted(TRAIN)


@pytest.mark.fault("F02")
def test_bad_pairs_are_dropped_together_counted_and_said(subwords, tmp_path, capsys):
    bad = [("", "rot"), ("the " * 17, "rot " * 17), ("the " * 8, "rot")]
    corpus = write_corpus(tmp_path / "corpus", train=[*TRAIN[:3], *bad, *TRAIN[3:5]])
    write_shards(corpus, subwords, settings(max_ratio=4.0), tmp_path / "ours")
    assert manifest(tmp_path / "ours")["dropped"] == {"empty": 1, "too different in length": 1, "too long": 1}
    said = capsys.readouterr().err.splitlines()[-2:]
    assert said == [
        "corpus: 5 pairs of train; left out by the bounds in `shards`: 1 empty, 1 too different in length, 1 too long",
        "corpus: 2 pairs of valid; left out by the bounds in `shards`: none",
    ]
    rows = pyarrow.dataset.dataset(tmp_path / "ours" / "train").to_table()["line"].to_pylist()
    assert sorted(rows) == [1, 2, 3, 7, 8]


def test_a_sub_word_model_that_the_disk_has_changed_is_named(corpus, subwords, tmp_path):
    """It may still load, and give other ids."""
    folder = shutil.copytree(subwords, tmp_path / "subwords")
    content = bytearray((folder / "subwords.model").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "subwords.model").write_bytes(content)
    with pytest.raises(InputError, match=r"subwords\.model: damaged, its SHA-256"):
        write_shards(corpus, folder, settings(), tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.fault("F12")
def test_unknown_characters_are_counted(shards):
    tokens = manifest(shards, "valid")["source_tokens"] + manifest(shards, "valid")["target_tokens"]
    assert manifest(shards, "valid")["unknown_share"] == pytest.approx(1 / tokens)
    assert manifest(shards)["unknown_share"] == 0
    assert list(read_shards(shards, "valid").source_tokens).count(UNK) == 1


def test_a_split_of_which_nothing_is_left_says_why(subwords, tmp_path):
    corpus = write_corpus(tmp_path / "corpus", valid=[("the " * 20, "rot")])
    with pytest.raises(InputError, match=r"valid\.en: no pair .*1 too long"):
        write_shards(corpus, subwords, settings(), tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.fault("F18")
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9])])
def test_a_missing_or_damaged_shard_is_named(shards, damage):
    path = shards / manifest(shards)["files"][1]["path"]
    damage(path)
    with pytest.raises(InputError, match=rf"bucket=\d+/{path.name}: (missing|damaged)"):
        read_shards(shards, "train")


def test_shards_without_a_manifest_are_refused(shards):
    (shards / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"manifest\.json: no such file"):
        read_shards(shards, "train")


def test_lines_are_prepared_as_the_sub_words_were(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", train=[("The Red door, a TREE.", "Rot."), *TRAIN])
    text = TextSettings(lowercase=True, tokenise="moses")
    learn_subwords(corpus, text, SubwordSettings(kind="bpe", vocabulary=50, sample=1000, seed=1), tmp_path / "subwords")
    write_shards(corpus, tmp_path / "subwords", settings(), tmp_path / "ours")
    pairs, model = read_shards(tmp_path / "ours", "train"), Subwords(tmp_path / "subwords" / "subwords.model")
    found = {(tuple(pairs.source(i)), tuple(pairs.target(i))) for i in range(len(pairs))}
    source, target = map(tuple, model.encode(["the red door , a tree .", "rot ."]))
    assert (source, target) in found
    assert manifest(tmp_path / "ours")["unknown_share"] == 0
