"""A model folder that translates on its own, and what it says when it is damaged."""

import bz2
import gzip
import lzma
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.random_model import use_word_pieces, write_parser
from tests.workspace import PAPER, ROOT, environment, sentences
from transformer import __main__ as command
from transformer.io.errors import InputError
from transformer.io.files import read_json, write_json
from transformer.model import Transformer
from transformer.parsing.parser import Parser
from transformer.search import Hypothesis, beam_search
from transformer.settings import ModelSettings
from transformer.text.subwords import Subwords
from transformer.text.trees import read_brackets
from transformer.translator import Part, Translation, Translator

SHAPE = ModelSettings(layers=1, d_model=16, d_ff=16, heads=2, d_k=8, d_v=8, dropout=0.1, **PAPER)


def write_weights(folder: Path, shape: ModelSettings, vocabulary: int) -> None:
    torch.manual_seed(3)
    save_file(Transformer(shape, vocabulary).state_dict(), folder / "model.safetensors")


def change_config(folder: Path, **changes: Any) -> None:
    write_json(folder / "config.json", {**read_json(folder / "config.json"), **changes})


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(made, tmp_path / "model")


def test_lines_keep_their_order_and_empty_ones_stay_empty(made: Path) -> None:
    translator = Translator.load(made)
    lines = ["the red cat sees the dog", "", "the fish", "  \u200b ", "the old horse follows the small mouse"]
    together = translator.translate(lines)
    assert [bool(line) for line in together] == [True, False, True, False, True]
    assert together == [translator.translate([line])[0] for line in lines]


def test_raw_lines_are_prepared_as_in_training_and_outputs_are_plain_text(folder: Path) -> None:
    config = read_json(folder / "config.json")
    write_json(folder / "config.json", {**config, "text": {"lowercase": True, "tokenise": "moses"}})
    translator = Translator.load(folder)
    assert translator.encode(["The RED cat"]) == translator.encode(["the red cat"])
    assert translator.encode(["red(cat)"]) == translator.subwords.encode(["red ( cat )"])
    assert translator.restore(["da gato ( rota ) , alta ."]) == ["da gato (rota), alta."]
    lines = ["The old horse"]
    assert translator.translate(lines) == translator.restore(translator.decode(translator.search(lines)))


def test_saving_and_loading_changes_no_output(made: Path) -> None:
    first, second = Translator.load(made), Translator.load(made)
    assert first.model.embedding is not second.model.embedding
    assert first.translate(["the red cat"]) == second.translate(["the red cat"])


def test_a_model_with_word_pieces_translates_too(folder: Path) -> None:
    use_word_pieces(folder)
    translator = Translator.load(folder)
    assert translator.subwords.kind == "wordpiece"
    assert "\u2581" not in translator.translate(["the red cat"])[0] != ""


def test_a_character_never_seen_does_not_stop_it(made: Path) -> None:
    assert len(Translator.load(made).translate(["the \U0001f600 cat"])) == 1


def test_half_a_surrogate_pair_is_translated_as_undecodable_bytes_are(made: Path) -> None:
    translator = Translator.load(made)
    assert translator.translate(["the \ud83d cat"]) == translator.translate(["the \ufffd cat"])


def test_more_sentences_than_one_batch_takes(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [pair[0] for pair in sentences(20, seed=4)]
    whole = Translator.load(made).translate(lines)
    monkeypatch.setattr("transformer.translator.TOKENS_AT_ONCE", 30)
    assert Translator.load(made).translate(lines) == whole


def test_batches_are_searched_side_by_side_and_share_the_threads(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["the cat", "the dog sees the cat"]
    whole = Translator.load(made).translate(lines)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    translator = Translator.load(made)
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    together = threading.Barrier(2, timeout=60)

    def search(*arguments: Any) -> list[list[Hypothesis]]:
        together.wait()
        return beam_search(*arguments)

    monkeypatch.setattr("transformer.translator.beam_search", search)
    assert translator.translate(lines) == whole
    assert asked == [2, 2, 4]


def test_callers_at_the_same_time_leave_the_number_of_threads_as_it_was(made: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        translator = Translator.load(made)
        lines = ["the cat", "the dog sees the cat"]
        with ThreadPoolExecutor(4) as callers:
            assert len(set(map(tuple, callers.map(translator.translate, [lines] * 20)))) == 1
        with ThreadPoolExecutor(1) as later:
            assert later.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(before)


def test_bf16_scores_as_fp32_to_two_digits(made: Path) -> None:
    lines = ["the cat sees a dog", "a dog", "the cat " * 300]
    translator = Translator.load(made, "bf16")
    assert {weights.dtype for weights in translator.model.parameters()} == {torch.bfloat16}
    scores = [hypothesis.score for hypothesis in translator.search(lines)]
    assert scores == pytest.approx([hypothesis.score for hypothesis in Translator.load(made).search(lines)], rel=0.05)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", None, "no model folder: it has no config.json"),
        ("config.json", b"{", "config.json: damaged"),
        ("config.json", b"{}", "config.json: source_language"),
        ("model.safetensors", None, "model.safetensors"),
        ("model.safetensors", b"torn", "model.safetensors: no readable weights"),
        ("subwords.model", b"other", "subwords.model: damaged"),
    ],
)
def test_a_damaged_folder_is_one_line_that_names_the_file(
    folder: Path, file: str, content: bytes | None, message: str
) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        Translator.load(folder)


@pytest.mark.fault("F13")
def test_another_sub_word_model_is_refused(folder: Path) -> None:
    with (folder / "subwords.model").open("ab") as file:
        file.write(b"\x12\x00")  # an empty field more: still a model, but another one
    with pytest.raises(InputError, match="not the sub-word model that these weights were trained with"):
        Translator.load(folder)


def long_line(count: int) -> str:
    return " ".join(pair[0] + "." for pair in sentences(count, seed=9))


def its_sentences(line: str) -> list[str]:
    return re.split(r"(?<=\.) ", line)


@pytest.mark.fault("F28")
def test_a_line_longer_than_any_in_training_is_translated_in_parts(folder: Path) -> None:
    change_config(folder, longest_source=30)
    translator = Translator.load(folder)
    line = long_line(5)
    best = translator.nbest([line], 1)[0][0]
    assert [part.source for part in best.parts] == translator.encode(its_sentences(line))
    assert best.text == " ".join(text for text in translator.translate(its_sentences(line)) if text)
    assert translator.translate(["the cat", line, ""]) == [translator.translate(["the cat"])[0], best.text, ""]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """For so few sub-words that a line of some sentences is too long."""
    monkeypatch.setattr("transformer.translator.TOKENS_AT_ONCE", 31)


@pytest.mark.usefixtures("little_memory")
def test_a_test_line_too_long_for_memory_is_split_and_named_and_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_config(folder, longest_source=8)
    translator = Translator.load(folder)
    long, line = "the red cat sees the fish", long_line(5)
    assert 8 < len(translator.encode([long])[0]) <= 30
    whole, joined = translator.search([long, line])
    assert whole.ids == translator.search_ids(translator.encode([long]), 1)[0][0].ids
    parts = [part.output for part in translator.nbest([line], 1)[0][0].parts]
    assert joined.ids == [i for part in parts for i in part.ids]
    assert joined.score == pytest.approx(sum(part.score for part in parts), abs=1e-4)
    said = f"line 2: more than the 30 sub-words that are searched at once, so translated in {len(parts)} parts\n"
    assert said in capsys.readouterr().err
    with pytest.raises(InputError, match="more than 30 are not searched at once"):
        translator.search_ids(translator.encode([line]), 1)


@pytest.mark.usefixtures("little_memory")
def test_a_sentence_too_long_for_memory_becomes_a_flat_tree(parse: "Command") -> None:
    line = "a dog " * 40
    trees = [read_brackets(tree) for tree in parse(f"a dog\n{line}\n".encode(), "--trees")]
    assert [tree.words for tree in trees] == [["a", "dog"], line.split()]
    assert trees[1].phrases == []
    assert "line 2: more than the 30 sub-words that are searched at once, so a flat tree\n" in parse.errors
    assert "line 2: longer than any" not in parse.errors


def test_the_best_of_a_split_line_are_the_best_sums_of_its_parts(folder: Path) -> None:
    change_config(folder, longest_source=30)
    translator = Translator.load(folder)
    line = long_line(2)
    first, second = translator.nbest(its_sentences(line), 3)
    sums = sorted((a.score + b.score for a in first for b in second), reverse=True)
    assert [best.score for best in translator.nbest([line], 3)[0]] == pytest.approx(sums[:3], abs=1e-4)


@pytest.mark.fault("F28")
def test_learned_positions_leave_room_for_the_output(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("model", "translator"):
        monkeypatch.setattr(f"transformer.{module}.LEARNED_POSITIONS", 25)
    shape = SHAPE.model_copy(update={"positions": "learned"})
    change_config(folder, model=shape.model_dump())
    write_weights(folder, shape, Subwords(folder / "subwords.model").size)
    translator = Translator.load(folder)
    best = translator.nbest([long_line(1)], 1)[0][0]
    assert translator.longest == 16  # with an end symbol 17 positions; output: 16 + 8 ids behind the begin symbol, 25
    assert max(len(part.source) for part in best.parts) <= 16


def test_lists_longer_than_the_beam_come_of_a_wider_one(made: Path) -> None:
    translator = Translator.load(made)
    best, empty = translator.nbest(["the red cat", ""], 6)  # the model's beam is 4
    assert len({tuple(translation.parts[0].output.ids) for translation in best}) == 6
    assert [translation.score for translation in best] == sorted((t.score for t in best), reverse=True)
    assert [(translation.text, translation.score) for translation in empty] == [("", 0.0)]


def test_alignment_is_of_the_pieces_of_source_and_output(made: Path) -> None:
    translator = Translator.load(made)
    part = translator.nbest(["the red cat"], 1)[0][0].parts[0]
    source, output, weights = translator.alignment(part)
    assert "".join(source) == "▁the▁red▁cat</s>"
    assert len(output) == len(part.output.ids) + (not part.output.cut) == len(weights)
    assert [sum(row) for row in weights] == pytest.approx([1] * len(weights), abs=1e-4)


class Command:
    """Runs the command in this process."""

    def __init__(self, model: Path, scratch: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]):
        self.model, self.scratch, self.patch, self.capture = model, scratch, patch, capture

    def __call__(self, text: bytes, *options: str) -> list[str]:
        """The lines that it prints."""
        (self.scratch / "input").write_bytes(text)
        self.patch.setattr(sys, "argv", ["transformer", str(self.model), *options])
        with (self.scratch / "input").open() as stdin:
            self.patch.setattr(sys, "stdin", stdin)
            command.main()
        return self.printed()

    def printed(self) -> list[str]:
        out, self.errors = (stream.decode() for stream in self.capture.readouterr())
        assert out == "" or out.endswith("\n")
        return out.split("\n")[:-1]


@pytest.fixture
def translate(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Command:
    return Command(folder, tmp_path, monkeypatch, capfdbinary)


def test_the_command_translates_line_for_line(translate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LINES_AT_ONCE", 2)
    lines = ["the cat", "", "the dog\u2028the cat\x85", "the\tfish\r", "a" * 3000, "the end"]
    found = translate("\n".join(lines).encode())
    assert found == Translator.load(translate.model).translate(lines)
    assert translate(b"") == []


def test_columns_of_lists_and_scores(translate: Command) -> None:
    translator = Translator.load(translate.model)
    lines = ["the red cat", "", "the fish"]
    text = "\n".join(lines).encode()
    best = translator.nbest(lines, 3)
    numbered = [(number, row) for number, rows in enumerate(best, start=1) for row in rows]
    assert translate(text, "--nbest", "3") == [f"{number}\t{row.text}" for number, row in numbered]
    assert translate(text, "--nbest", "3", "--scores") == [
        f"{number}\t{row.score:.4f}\t{row.text}" for number, row in numbered
    ]
    assert translate(text, "--scores") == [
        f"{rows[0].score:.4f}\t{rows[0].text}" for rows in translator.nbest(lines, 1)
    ]


def test_long_lines_are_split_or_refused_as_asked(translate: Command) -> None:
    change_config(translate.model, longest_source=30)
    text = f"the cat\n{long_line(2)}\nthe dog\n".encode()
    assert len(translate(text)) == len(translate(text, "--long", "split")) == 3
    assert "line 2: too long for this model, translated in 2 parts\n" in translate.errors
    with pytest.raises(InputError, match=r"standard input, line 2: \d+ sub-words, and this model takes 30; shorten it"):
        translate(text, "--long", "refuse")
    assert len(translate.printed()) == 1


def test_outputs_at_the_length_limit_are_named(translate: Command) -> None:
    best = [rows[0] for rows in Translator.load(translate.model).nbest(["the cat", "the dog"], 1)]
    translate(b"the cat\nthe dog\n")
    for number, translation in enumerate(best, start=1):
        note = f"line {number}: the translation ends at the length limit\n"
        assert (note in translate.errors) == translation.cut


def test_an_empty_translation_of_something_is_named(translate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Translation("", [Part([5], Hypothesis([], -1.0))])
    monkeypatch.setattr(Translator, "nbest", lambda self, lines, n: [[nothing], [Translation("", [])]])
    assert translate(b"the cat\n\n") == ["", ""]
    assert re.findall(r"line \d+: .*", translate.errors) == ["line 1: the translation is empty"]


def test_a_closed_standard_input_is_one_line(translate: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["transformer", str(translate.model)])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed"):
        command.main()


def test_a_line_that_is_not_utf8_is_named_after_all_before_it(translate: Command) -> None:
    with pytest.raises(InputError, match="line 3: not UTF-8"):
        translate(b"the cat\n\nthe d\xf6g\nthe fish\n")
    assert len(translate.printed()) == 2


@pytest.mark.parametrize(("module", "tool"), [(gzip, "gunzip"), (lzma, "unxz"), (bz2, "bunzip2")])
def test_a_packed_input_is_named_with_what_unpacks_it(translate: Command, module: Any, tool: str) -> None:
    with pytest.raises(InputError, match=f"standard input: packed with .*; unpack it with {tool}$"):
        translate(module.compress(b"the cat\n"))


def test_the_page_of_alignments_has_a_picture_of_each_part(translate: Command, tmp_path: Path) -> None:
    change_config(translate.model, longest_source=30)
    text = f"the <b>cat</b>\n\n{long_line(2)}\n".encode()
    assert translate(text, "--attention", str(tmp_path / "out.html")) == translate(text)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert re.findall("<h2>(.*)</h2>", page) == ["line 1", "line 3, part 1 of 2", "line 3, part 2 of 2"]
    assert "<b>" not in page


@pytest.fixture
def parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(write_parser(tmp_path / "parser"), tmp_path, monkeypatch, capfdbinary)


@pytest.mark.fault("F31")
def test_the_command_parses_line_for_line(parse: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TREES_AT_ONCE", 2)
    lines = ['he (said) "no".', "", "it's a dog"]
    text = "\n".join(lines).encode()
    trees = parse(text, "--trees")
    assert [read_brackets(tree).words for tree in trees if tree] == [
        ["he", "(", "said", ")", '"', "no", '"', "."], ["it", "'s", "a", "dog"]
    ]  # fmt: skip
    parsed = Parser(Translator.load(parse.model)).parse_text(lines)
    assert trees == [one.text for one in parsed] and trees[1] == ""
    notes = [f"line {i}: the output was no tree" for i, one in enumerate(parsed, 1) if one.repaired and one.text]
    assert re.findall("line .*: the output was no tree", parse.errors) == notes != []
    assert parse(text, "--trees", "--scores") == [f"{one.output.score:.4f}\t{one.text}" for one in parsed]
    words = [read_brackets(tree).words if tree else [] for tree in parse(text, "--trees", "--tokenised")]
    assert words == [line.split() for line in lines]


def test_a_sentence_longer_than_any_in_training_is_parsed_whole_or_refused(parse: Command) -> None:
    change_config(parse.model, longest_source=8)
    text = b"a dog\nit sees a dog\n"
    assert len(parse(text, "--trees")) == 2
    assert re.findall("line .*longer than any in", parse.errors) == ["line 2: longer than any in"]
    with pytest.raises(InputError, match=r"line 2: \d+ sub-words"):
        parse(text, "--trees", "--long", "refuse")
    assert len(parse.printed()) == 1


def test_trees_come_from_parsers_and_translations_from_translators(translate: Command, parse: Command) -> None:
    with pytest.raises(InputError, match="model: this model translates; leave --trees out"):
        translate(b"the cat\n", "--trees")
    with pytest.raises(InputError, match="parser: this model parses; add --trees"):
        parse(b"the cat\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--nbest", "0"], ["--nbest", "1001"], ["--nbest", "two"], ["--long", "cut"], ["--tokenised"],
        ["--trees", "--nbest", "2"], ["--trees", "--attention", "out.html"],
    ],
)  # fmt: skip
def test_a_wrong_option_ends_with_2(translate: Command, options: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        translate(b"", *options)
    assert caught.value.code == 2


def test_answers_come_while_the_rest_is_still_to_be_read(made: Path) -> None:
    """As a pipe that is fed slowly; and a reader who leaves, as `head` does, is no reason for a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "transformer", str(made)], cwd=ROOT, env={**environment(), "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    for line in (b"the red cat\n", b"the dog\n"):
        process.stdin.write(line)
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
    process.stdout.close()
    process.stdin.write(b"the fish\n")
    process.stdin.close()
    errors = process.stderr.read().decode()
    assert process.wait(60) == 1
    assert not re.search("Traceback|BrokenPipe", errors)
