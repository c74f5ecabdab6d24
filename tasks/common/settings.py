"""params.yaml, typed and checked before any work.

Every stage reads its part through `read_corpus` or `read_experiment`, which return only the sections asked for, so
that a stage cannot read what dvc.yaml does not list for it.
"""

import argparse
import re
import sys
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from tasks.common.catalogue import with_facts
from tasks.common.gz import without_gz
from tasks.common.table3_rows import ROWS
from tasks.common.yaml_reader import read_yaml
from transformer.io.errors import InputError, did_you_mean
from transformer.settings import ModelSettings, SearchSettings, Settings, TextSettings, TrainingSettings

PARAMS = Path("params.yaml")


class Languages(Settings):
    """The codes of the two sides; they are also the endings of the corpus's files."""

    source: str = Field(pattern=r"^[a-z][a-z-]*$")
    target: str = Field(pattern=r"^[a-z][a-z-]*$")

    @model_validator(mode="after")
    def _two(self) -> "Languages":
        if self.source == self.target:
            raise ValueError("source and target must have different names: they are the endings of files")
        return self


class Wheel(Settings):
    """A wheel on the package index, known by its exact version and hash."""

    name: str
    version: str
    python: str = Field(description="a Python version that the wheel declares itself fit for")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str


class WheelsOrigin(Settings):
    """Text from the translation catalogs (gettext, JSON) inside wheels; never installed, never imported."""

    kind: Literal["wheels"]
    wheels: list[Wheel] = Field(min_length=1)
    valid: int = Field(ge=1, description="pairs held out for validation")
    test: int = Field(ge=1, description="pairs held out for the test")


def _pairs_of_files(value: Any) -> Any:
    """A single pair may be written without the outer brackets."""
    one = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return [value] if one else value


def _one_tsv_or_two_files(names: list[str]) -> list[str]:
    tables = [name for name in names if without_gz(name).lower().endswith(".tsv")]
    if len(names) == 1 and not tables:
        raise ValueError(f"{names[0]} is one file, so it must be a .tsv or .tsv.gz; else give two")
    if len(names) == 2 and tables:
        raise ValueError(f"{tables[0]} holds both sides by itself; several such files are written [[a.tsv], [b.tsv]]")
    return names


FILES = Annotated[
    list[Annotated[list[str], Field(min_length=1, max_length=2), AfterValidator(_one_tsv_or_two_files)]],
    Field(min_length=1),
    BeforeValidator(_pairs_of_files),
]


class FilesOrigin(Settings):
    """The user's own parallel text: for each split pairs of files, [a.en, a.de] or [[a.en, a.de], [b.tsv], ...].

    A pair is two files (one a language; text or .sgm), or one .tsv. Each may be a .gz.
    """

    kind: Literal["files"]
    folder: str = Field(description="may name environment variables: $REPRO_DATA/multi30k")
    train: FILES
    valid: FILES
    test: FILES


# Names of files in an archive: no absolute path, no `..`.
MEMBER = Annotated[str, Field(pattern=r"^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*$")]


class Download(Settings):
    """A published archive: .tar, .tgz or .zip."""

    file: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="its name in data/downloads")
    urls: list[Annotated[str, Field(pattern=r"^https?://")]] = Field(min_length=1, description="tried in this order")
    bytes: Annotated[int, Field(ge=1)] | Literal["unknown"]
    checksum: str = Field(
        pattern=r"^(sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}|unknown)$",
        description="as published; without a sha256 the first download's is noted, and later ones are held to it",
    )


class Archive(Download):
    """An archive, and the pair of files in it that is wanted."""

    members: Annotated[list[MEMBER], AfterValidator(_one_tsv_or_two_files)] = Field(
        min_length=1, max_length=2, description="source and target, or one .tsv"
    )


class ArchivesOrigin(Settings):
    """Parallel text from published archives, such as those of the WMT tasks at statmt.org."""

    kind: Literal["archives"]
    terms: str = Field(description="where it says what one may do with the text")
    train: list[Archive] = Field(min_length=1)
    valid: str = Field(description="one of `sets`")
    sets: dict[str, Archive] = Field(description="held-out sets by name; the corpus's test_set is one of them")

    @model_validator(mode="after")
    def _known(self) -> "ArchivesOrigin":
        if self.valid not in self.sets:
            raise ValueError(f"valid: no set {self.valid!r}; {did_you_mean(self.valid, self.sets)}")
        return self


class HubOrigin(Settings):
    """A data set of the Hugging Face hub, or a folder in its layout: CONFIG/train-*.parquet validation-* test-*.

    Each row has a struct `translation` with a text for each language.
    """

    kind: Literal["hub"]
    dataset: str = Field(description="owner/name@revision, or a folder: one that begins with / . ~ or $VARIABLE")
    config: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    terms: str = Field(description="where it says what one may do with the text")
    valid: str = Field(description="which set its validation split is, by name")


class TreesArchive(Download):
    """An archive, and the folder in it that holds the trees."""

    folder: MEMBER = Field(description="without the folders around it, such as GitHub's CRAFT-5.0.2/")


PATTERNS = Annotated[list[str], Field(min_length=1, description="paths below the folder; `*` stands for anything")]


class TreesOrigin(Settings):
    """Constituency trees in Penn brackets: files below a folder, plain or .gz, whose words are to be parsed.

    Where the folder is there, it is taken; else the archive is fetched, if one is named.
    """

    kind: Literal["trees"]
    folder: str = Field(description="may name environment variables: $REPRO_DATA/treebank/craft")
    # With a default, since few treebanks may be published.
    archive: TreesArchive | None = Field(default=None, description="whose folder stands for a folder that is not there")
    terms: str = Field(description="the licence, or where it says what one may do with the trees")
    train: PATTERNS = Field(description="files of valid and test are left out")
    valid: PATTERNS
    test: PATTERNS = Field(description="files of valid are left out")
    parsed: list[str] = Field(
        description="more of train: trees that a parser made, as in semi-supervised training; paths below the folder, "
        "or elsewhere if they begin with / or a variable: $WSJ_PARSED/*.gz"
    )
    gold_times: int = Field(ge=1, description="how often the trees of train stand among those of `parsed`, if any")


ORIGIN = WheelsOrigin | FilesOrigin | ArchivesOrigin | HubOrigin | TreesOrigin


class Cleaning(Settings):
    """Which training pairs are dropped, both sides together, each counted under its reason. Test lines never are.

    Whatever the settings, pairs with damaged characters or an empty side are dropped, letters and their marks composed
    (NFC), invisible characters removed and white space made single spaces: the sub-words take text as it is translated
    later, which is normalised in the same way, and a pair of which a side is missing or damaged teaches nothing but
    that.

    Of valid only those are dropped that no model is trained on: with damaged characters, an empty side or more than
    max_characters.
    """

    max_characters: int = Field(ge=1, description="of either side")
    max_words: int | None = Field(ge=1, description="of either side, between spaces; null: any number")
    max_ratio: float | None = Field(
        ge=1, description="of the words of the longer side to those of the shorter; or null"
    )
    drop: list[Literal["escaped", "identical", "other script", "other language", "overlap", "duplicate"]] = Field(
        description="escaped: with escapes of the Moses tokeniser, which are undone otherwise; identical: both sides "
        "the same; other script, other language: a side that is unlike that of valid and test "
        "(tasks/cleaning/languages.py); overlap: a side that is also a line of valid or test; duplicate: a pair that "
        "stood before"
    )


class SubwordSettings(Settings):
    """A shared sub-word vocabulary (section 5.1)."""

    kind: Literal["bpe", "wordpiece"] = Field(description="the paper: BPE for English-German, word pieces for -French")
    vocabulary: int = Field(ge=8, description="its size, the four special ids included")
    sample: int = Field(ge=1, description="learned from at most so many lines, drawn by the seed over both sides")
    seed: int = Field(ge=0)


class ShardSettings(Settings):
    """Length-bucketed shards; lengths in sub-words, the end symbol not counted."""

    max_length: int = Field(ge=1)
    max_ratio: float = Field(ge=1, description="of the longer side to the shorter, end symbols counted")
    buckets: list[int] = Field(min_length=1, description="upper bounds of the longer side, rising to max_length")
    rows_per_shard: int = Field(ge=1, description="at most: a shard has one bucket's pairs of so many lines in a row")

    @model_validator(mode="after")
    def _rising(self) -> "ShardSettings":
        rising = all(low < high for low, high in pairwise([0, *self.buckets]))
        if not rising or self.buckets[-1] != self.max_length:
            raise ValueError("buckets must rise from 1 or more and end with max_length")
        return self


class Corpus(Settings):
    """An entry of `corpora`."""

    languages: Languages
    test_set: str = Field(description="the name under which scores on its test split stand in the tables")
    origin: Annotated[ORIGIN, Field(discriminator="kind")]
    cleaning: Cleaning
    text: TextSettings
    subwords: SubwordSettings
    shards: ShardSettings

    @model_validator(mode="after")
    def _trees_or_text(self) -> "Corpus":
        kind = self.origin.kind == "trees"
        if kind != (self.text.trees is not None) or kind != (self.languages.target == "tree"):
            raise ValueError("origin.kind trees, text.trees and languages.target tree go together")
        if kind and (self.text.tokenise != "none" or self.text.lowercase):
            raise ValueError("text.tokenise must be none and text.lowercase false: the words of a tree are its own")
        return self

    @model_validator(mode="after")
    def _test_set_exists(self) -> "Corpus":
        if self.test_set == self.origin.valid:
            raise ValueError(f"test_set and origin.valid are both {self.test_set}: the test must be text unseen so far")
        if isinstance(self.origin, ArchivesOrigin) and self.test_set not in self.origin.sets:
            raise ValueError(
                f"test_set: origin.sets has no {self.test_set!r}; {did_you_mean(self.test_set, self.origin.sets)}"
            )
        return self


class Averaging(Settings):
    """Averaging of the last weights (section 6.1)."""

    last: int = Field(ge=1, description="snapshots of the training, the newest ones")


def _without_seed(training: Any) -> Any:
    """The seed is a key of the experiment, and no preset has one."""
    if isinstance(training, dict) and "seed" in training:
        raise ValueError("seed is a key of the experiment, beside its preset")
    return training | {"seed": 0} if isinstance(training, dict) else training


class Preset(Settings):
    """An entry of `presets`: all settings of an experiment but corpus and seed."""

    model: ModelSettings
    training: Annotated[TrainingSettings, BeforeValidator(_without_seed)]
    averaging: Averaging
    search: SearchSettings


class Entry(Settings):
    """An entry of `experiments`, as it is written."""

    corpus: str
    preset: str = Field(description="a key of `presets`; the tables print it")
    changes: dict[str, Any] = Field(
        description="of the preset's model and training, by their keys; the tables print them"
    )
    seed: int = Field(ge=0, description="of the training")
    # With defaults, since few experiments are rows of a table.
    table: Literal["table3", "table3-tiny"] | None = Field(default=None, description="of which it is a row")
    row: str | None = Field(default=None, description="A1 ... E1, base or big: the paper's row that it is")

    @model_validator(mode="after")
    def _a_row(self) -> "Entry":
        if (self.table is None) != (self.row is None):
            raise ValueError("table and row go together")
        if self.row is not None and self.row not in ROWS:
            raise ValueError(f"row: Table 3 has no {self.row!r}; {did_you_mean(self.row, ROWS)}")
        return self


class Experiment(Entry):
    """The same with all that its preset and its changes make of it."""

    model: ModelSettings
    training: TrainingSettings
    averaging: Averaging
    search: SearchSettings

    @property
    def is_variation(self) -> bool:
        """Whether it was trained for Table 3 alone, as all its rows were but the paper's base and big."""
        return self.table is not None and (self.table, self.row) not in (("table3", "base"), ("table3", "big"))

    @model_validator(mode="after")
    def _enough_snapshots(self) -> "Experiment":
        if self.averaging.last > self.snapshots:
            kept = self.snapshots
            raise ValueError(f"averaging.last is {self.averaging.last}, but the training keeps {kept} snapshots")
        return self

    @property
    def snapshots(self) -> int:
        """How many the training leaves behind."""
        return min(self.training.keep_snapshots, -(-self.training.updates // self.training.snapshot_every))


class LayersSettings(Settings):
    """Sizes of the layers of Table 1 and how they are measured (tasks/layers/measure.py)."""

    lengths: list[Annotated[int, Field(ge=1)]] = Field(min_length=3, description="n, rising, each at d = width")
    width: int = Field(ge=1, description="one of widths")
    widths: list[Annotated[int, Field(ge=1)]] = Field(min_length=3, description="d, rising, each at n = length")
    length: int = Field(ge=1, description="one of lengths")
    d_k: int = Field(ge=1, description="numbers in a head of attention, of which widths are multiples")
    kernel: int = Field(ge=1, description="k, odd")
    neighbourhood: int = Field(ge=2, multiple_of=2, description="r, of which lengths are multiples")
    rounds: int = Field(ge=1, description="how often each time is measured; the shortest counts")
    seconds: float = Field(gt=0, description="for each of these measurements, at least")
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _fit(self) -> "LayersSettings":
        for name, sizes in (("lengths", self.lengths), ("widths", self.widths)):
            if not all(low < high for low, high in pairwise(sizes)):
                raise ValueError(f"{name} must rise")
        if self.length not in self.lengths or self.width not in self.widths:
            raise ValueError("length must be one of lengths, and width one of widths")
        if any(d % self.d_k for d in self.widths) or any(n % self.neighbourhood for n in self.lengths):
            raise ValueError("widths must be multiples of d_k, and lengths of neighbourhood")
        if self.kernel % 2 == 0:
            raise ValueError("kernel must be odd, or the output is shorter than the input")
        return self


class Prices(Settings):
    """What devices cost by the hour: of the reader's choice, and not measured."""

    currency: str
    per_device_hour: dict[str, Annotated[float, Field(ge=0)]] = Field(
        description="of a GPU, or of a rank's threads on a CPU, under a part of its name; the first that fits counts"
    )


class Sweep(Settings):
    """An entry of `sweeps`: how the averaging and the search of the experiment of that name are varied."""

    corpus: str = Field(description="the experiment's, again: DVC cannot look it up")
    preset: str = Field(description="likewise")
    last: list[Annotated[int, Field(ge=1)]] = Field(
        min_length=1, description="of so many snapshots the mean is taken, searched as the experiment is"
    )
    beams: list[Annotated[int, Field(ge=1)]] = Field(
        min_length=1, description="each with each length penalty, of weights averaged as the experiment's"
    )
    length_penalties: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)


class AttentionPicture(Settings):
    """An entry of `attention`: the sentence that the model of that experiment is watched with.

    Figures like the paper's show where it looks; changing a word draws them anew, and runs no model.
    """

    sentence: str = Field(description="in the model's source language")
    far: str = Field(description="a word of it that belongs to a distant one, as in the paper's Figure 3")
    pronoun: str = Field(description="a word of it that stands for another one, as in Figure 4")

    @model_validator(mode="after")
    def _words_are_there(self) -> "AttentionPicture":
        words = re.findall(r"\w+", self.sentence)
        for key in ("far", "pronoun"):
            if words.count(getattr(self, key)) != 1:
                raise ValueError(f"{key} must be a word that stands in the sentence once")
        return self


NAME = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class Written(Settings):
    """The whole of params.yaml, as it is written but for facts, which stand in the place of their names."""

    corpora: dict[NAME, Corpus]
    presets: dict[NAME, Preset]
    experiments: dict[NAME, Entry]
    max_restarts: int = Field(ge=0, description="how often torchrun starts a failed training again")
    # These two with a default, since no experiment needs them.
    layers: LayersSettings | None = Field(default=None, description="of the stage `layers`")
    prices: Prices | None = Field(default=None, description="by which Table 2 turns time into money")
    # With defaults, since these say what is looked at, and nothing of what an experiment is.
    sweeps: dict[NAME, Sweep] = Field(default={}, description="by names of experiments")
    attention: dict[NAME, AttentionPicture] = Field(default={}, description="the first that was run is drawn")


class Params(Written):
    """The same with whole experiments."""

    experiments: dict[NAME, Experiment]  # type: ignore[assignment]

    @property
    def variations(self) -> set[str]:
        """The experiments that are trained for Table 3 alone: too many to name each."""
        return {name for name, experiment in self.experiments.items() if experiment.is_variation}

    def only(self, names: Collection[str]) -> "Params":
        """The same with no other experiments than these, in the order they stand in."""
        chosen = {name: experiment for name, experiment in self.experiments.items() if name in names}
        return self.model_copy(update={"experiments": chosen})


def read_params(path: Path = PARAMS) -> Params:
    """Read and check params.yaml; InputError names the first wrong key and the nearest right one."""
    return parse_params(read_yaml(path), path)


def parse_params(content: Any, path: Path = PARAMS) -> Params:
    """The same of what stands in the file."""
    try:
        written = Written.model_validate(_with_facts(content))
        experiments = {name: _whole(name, entry, written) for name, entry in written.experiments.items()}
        params = Params(**{**dict(written), "experiments": experiments})
        for name, sweep in params.sweeps.items():
            _check_sweep(f"sweeps.{name}", name, sweep, params)
        for name in params.attention:
            _known(f"attention.{name}", "experiment", name, params.experiments)
    except ValidationError as error:
        raise InputError(f"{path}: {_explain(error)}") from None
    except _Wrong as error:
        raise InputError(f"{path}: {error}") from None
    return params


class _Wrong(Exception):
    """A setting that does not go with another one: its key, and why."""


def _known(where: str, kind: str, name: str, entries: Collection[str]) -> None:
    if name not in entries:
        raise _Wrong(f"{where}: no {kind} {name!r}; {did_you_mean(name, entries)}")


def _with_facts(content: Any) -> Any:
    """params.yaml with facts of the catalogue; what has another form than it should is for the check of types."""
    corpora = content.get("corpora") if isinstance(content, dict) else None
    if not isinstance(corpora, dict):
        return content
    known = {}
    for name, corpus in corpora.items():
        known[name] = corpus
        if isinstance(corpus, dict) and isinstance(corpus.get("origin"), dict):
            languages = corpus.get("languages")
            try:
                origin = with_facts(corpus["origin"], languages if isinstance(languages, dict) else {})
                known[name] = corpus | {"origin": origin}
            except InputError as error:
                raise _Wrong(f"corpora.{name}.origin.{error}") from None
    return content | {"corpora": known}


def _whole(name: str, entry: Entry, written: Written) -> Experiment:
    """An experiment with its preset's settings and its own changes."""
    where = f"experiments.{name}"
    _known(f"{where}.corpus", "corpus", entry.corpus, written.corpora)
    _known(f"{where}.preset", "preset", entry.preset, written.presets)
    preset = written.presets[entry.preset]
    sections = {"model": preset.model, "training": preset.training.model_copy(update={"seed": entry.seed})}
    for key in entry.changes:
        _check_change(f"{where}.changes.{key}", key)
    whole: dict[str, Any] = {**dict(entry), "averaging": preset.averaging, "search": preset.search}
    for section, settings in sections.items():
        changes = {key: value for key, value in entry.changes.items() if key in type(settings).model_fields}
        try:
            whole[section] = type(settings).model_validate({**settings.model_dump(), **changes})
        except ValidationError as error:
            raise _Wrong(f"{where}.changes.{_explain(error)}") from None
    try:
        return Experiment(**whole)
    except ValidationError as error:
        raise _Wrong(f"{where}: {_explain(error).removeprefix('the whole file: ')}") from None


def _check_change(where: str, key: str) -> None:
    """It must be a setting of the model or the training, of which an experiment may change what its preset has."""
    known = (ModelSettings.model_fields | TrainingSettings.model_fields).keys() - {"seed"}
    if key == "seed":
        raise _Wrong(f"{where}: seed stands beside changes")
    if key in SearchSettings.model_fields or key in Averaging.model_fields:
        raise _Wrong(f"{where}: search and averaging are the preset's; add a preset that has another {key}")
    if key not in known:
        raise _Wrong(f"{where} is not a setting; {did_you_mean(key, sorted(known))}")


def _check_sweep(where: str, name: str, sweep: Sweep, params: Params) -> None:
    """It must be one of an experiment that can be swept so far."""
    _known(where, "experiment", name, params.experiments)
    experiment = params.experiments[name]
    for key in ("corpus", "preset"):
        if (ours := getattr(sweep, key)) != (its := getattr(experiment, key)):
            raise _Wrong(f"{where}.{key} is {ours}, but that of the experiment is {its}")
    if params.corpora[experiment.corpus].text.trees:
        raise _Wrong(f"{where}: {name} is a parser, and a sweep measures BLEU; take a translator")
    if max(sweep.last) > experiment.snapshots:
        kept = experiment.snapshots
        raise _Wrong(f"{where}.last: {max(sweep.last)} are averaged, but the training keeps {kept} snapshots")


def key_argument(kind: str) -> str:
    """The one argument of a stage's command, such as `multi30k`; with --help it shows the stage's own docs."""
    stage = sys.modules["__main__"]
    parser = argparse.ArgumentParser(
        prog=f"python -m {stage.__spec__.name.removesuffix('.__main__') if stage.__spec__ else 'tasks.STAGE'}",
        description=stage.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(kind, help=f"a name among the {'corpora' if kind == 'corpus' else 'experiments'} of {PARAMS}")
    return str(getattr(parser.parse_args(), kind))


def read_corpus(key: str, *sections: str, path: Path = PARAMS) -> Any:
    """The named sections of one corpus, as attributes."""
    return _sections("corpus", read_params(path).corpora, key, sections, path)


def read_experiment(key: str, *sections: str, path: Path = PARAMS) -> Any:
    """The named sections of one experiment, as attributes."""
    return _sections("experiment", read_params(path).experiments, key, sections, path)


def read_layers(path: Path = PARAMS) -> LayersSettings:
    """The section `layers`; InputError if there is none."""
    if (layers := read_params(path).layers) is None:
        raise InputError(f"{path}: layers is missing: the sizes of layers to be measured for Table 1")
    return layers


def read_sweep(key: str, *sections: str, path: Path = PARAMS) -> Any:
    """The named sections of one sweep, as attributes."""
    return _sections("entry of `sweeps` named", read_params(path).sweeps, key, sections, path)


def read_attention(key: str, *sections: str, path: Path = PARAMS) -> Any:
    """The named sections of one entry of `attention`, as attributes."""
    return _sections("entry of `attention` named", read_params(path).attention, key, sections, path)


def _sections(kind: str, entries: dict[str, Any], key: str, sections: tuple[str, ...], path: Path) -> SimpleNamespace:
    if key not in entries:
        raise InputError(f"{path}: no {kind} {key!r}; {did_you_mean(key, entries)}")
    return SimpleNamespace(**{section: getattr(entries[key], section) for section in sections})


def _explain(errors: ValidationError) -> str:
    """The first of pydantic's errors as one line: where, what, and for an unknown key the nearest known one."""
    error: Any = min(
        errors.errors(), key=lambda one: one["type"] != "extra_forbidden"
    )  # a typo, before what it left out
    location = error["loc"]
    # After `origin` pydantic names the kind it chose, and after a mapping's key it may say that the key is wrong.
    parts = [
        part for before, part in zip(("", *location), location, strict=False) if before != "origin" and part != "[key]"
    ]
    key = ".".join(map(str, parts)) or "the whole file"
    if error["type"] == "extra_forbidden":
        sections: list[type[Settings]] = [*Settings.__subclasses__(), *Download.__subclasses__()]
        names = {name for section in sections for name in section.model_fields} - {parts[-1]}
        return f"{key} is not a setting; {did_you_mean(str(parts[-1]), sorted(names))}"
    if error["type"] == "missing":
        return f"{key} is missing"
    if error["type"] == "union_tag_invalid":
        return f"{key}.kind: there is no kind {error['ctx']['tag']!r}; known: {error['ctx']['expected_tags']}"
    given = f" (it is {error['input']!r})" if isinstance(error["input"], str | int | float | bool) else ""
    return f"{key}: {error['msg'].removeprefix('Value error, ')}{given}"
