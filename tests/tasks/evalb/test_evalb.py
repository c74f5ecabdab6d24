"""The scorer beside EVALB's own outputs, beside a simpler computation, and on trees worked out by hand."""

import gzip
import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tasks.evalb import __main__ as evalb
from tasks.evalb.rules import COLLINS, read_rules
from tasks.evalb.scores import ERROR, SKIPPED, VALID, score_trees, sum_up
from tasks.evalb.table import figures, table
from transformer.io.errors import InputError

NEW = COLLINS.with_name("new.prm")
RULES = read_rules(COLLINS)
GOLD = "(TOP (S (NP-SBJ (DT The) (NN crew)) (VP (VBD sang) (ADVP (RB aloud)) (-NONE- *T*-1)) (. .)))"


@pytest.fixture
def treebank() -> Path:
    if "REPRO_DATA" not in os.environ:
        pytest.skip("this machine has no treebank: REPRO_DATA is not set")
    return Path(os.environ["REPRO_DATA"]) / "treebank"


def score(gold: str, test: str, rules: evalb.Rules = RULES) -> evalb.SentenceScore:
    return score_trees([gold], [test], rules)[0]


def counts(gold: str, test: str, rules: evalb.Rules = RULES) -> tuple[int, int, int, int]:
    found = score(gold, test, rules)
    assert found.status == VALID
    return found.matched, found.gold, found.test, found.crossing


def written(tmp_path: Path, text: str) -> evalb.Rules:
    (tmp_path / "some.prm").write_text(text)
    return read_rules(tmp_path / "some.prm")


# ---- EVALB's own samples


STORED = [("sample", "sample"), ("sample", "COLLINS"), ("sample", "new"), ("bug", "new"), ("bug", "COLLINS")]


@pytest.mark.parametrize(("sample", "rule_file"), STORED)
def test_every_figure_is_that_of_the_c_program(treebank: Path, sample: str, rule_file: str) -> None:
    folder = treebank / "evalb"
    rules = read_rules(folder / f"{rule_file}.prm")
    gold, test = ((folder / f"{sample}.{side}").read_text().rstrip("\n").split("\n") for side in ("gld", "tst"))
    ours = table(score_trees(gold, test, rules), rules)
    theirs = (folder / f"{sample}.evalb-run.{rule_file}-prm.txt").read_text()
    assert ours.split("\n")[3:] == theirs.replace("-nan", "0.00").split("\n")[3:]  # below the heads of the columns
    assert figures(ours) == figures(theirs)
    assert len(figures(ours)) == len(gold) + 1 + 2 * 12


@pytest.mark.parametrize(("ours", "theirs"), [(COLLINS, "COLLINS.prm"), (NEW, "new.prm")])
def test_our_rule_files_say_what_those_of_evalb_say(treebank: Path, ours: Path, theirs: str) -> None:
    assert read_rules(ours) == read_rules(treebank / "evalb" / theirs)


# ---- By hand


def test_a_tree_matches_itself_whatever_is_deleted() -> None:
    found = score(GOLD, GOLD)
    # S, NP, VP, ADVP; the length has the full stop, the words have not.
    assert (found.matched, found.gold, found.test) == (4, 4, 4)
    assert (found.length, found.words, found.correct_tags) == (5, 4, 4)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("(S (NP (DT The) (NN crew)) (VP (VBD sang) (PRT (RB aloud))))", (4, 4, 4, 0)),  # ADVP is PRT
        ("(S (NP (DT The) (NN crew)) (VP (VBD sang) (NP (RB aloud))))", (3, 4, 4, 0)),
        ("(S (NP (NP (DT The) (NN crew))) (VP (VBD sang) (ADVP (RB aloud))))", (4, 4, 5, 0)),  # each matches once
        ("(S (DT The) (X (NN crew) (VBD sang)) (ADVP (RB aloud)))", (2, 4, 3, 1)),
        ("(S (DT The) (X (NN crew) (Y (VBD sang))) (ADVP (RB aloud)))", (2, 4, 4, 1)),
        ("(DT The) (NN crew) (VBD sang) (RB aloud)", (0, 4, 0, 0)),
        ("((S (NP (DT The) (NN crew)) (VP (VBD sang) (ADVP=1 (RB aloud)))))", (4, 4, 5, 0)),  # no label is one
    ],
)
def test_brackets_by_hand(test: str, expected: tuple[int, int, int, int]) -> None:
    assert counts(GOLD, test) == expected


def test_tags_count_whole_and_under_the_rules() -> None:
    tagged = "(S (NP (ADVP The) (NN-X crew)) (VP (VBD sang) (RB aloud)))"
    assert score(tagged.replace("ADVP The", "PRT The"), tagged.replace("NN-X", "NN")).correct_tags == 3


def test_pairs_that_are_equal_only_to_their_neighbour_are_taken_in_order(tmp_path: Path) -> None:
    rules = written(tmp_path, "EQ_LABEL A B\nEQ_LABEL B C\nEQ_WORD colour color\n")
    # The outer A takes the B, and nothing is left for the C; the other way round both find one.
    assert counts("(A (C (NN colour)))", "(B (A (NN color)))", rules)[0] == 1
    assert counts("(A (C (NN colour)))", "(A (B (NN colour)))", rules)[0] == 2


def test_unlabelled_brackets(tmp_path: Path) -> None:
    rules = written(tmp_path, "LABELED 0\nDELETE_LABEL TOP\n")
    assert counts("(TOP (A (B (NN x)) (NN y)))", "(TOP (D (NN x) (E (NN y))))", rules) == (1, 2, 2, 0)


def test_a_label_equal_to_a_deleted_one_is_deleted_as_a_bracket_and_not_as_a_tag(tmp_path: Path) -> None:
    rules = written(tmp_path, "DELETE_LABEL TOP\nEQ_LABEL ROOT TOP\n")
    assert counts("(ROOT (S (ROOT x)))", "(S (ROOT x))", rules) == (1, 1, 1, 0)


def test_a_quotation_mark_that_one_side_tags_as_a_word_counts_on_both_by_the_new_rules() -> None:
    gold = "(S (NP (DT The) (`` \") (NN gene) ('' \")) (VP (VBZ works)) (. .))"
    test = '(S (NP (DT The) (CD ") (NN gene)) (VP (VBZ ") (ADJP (JJ works))) (. .))'
    assert score(gold, test).status == ERROR
    found = score(gold, test, read_rules(NEW))
    # Words 0 to 4 with both marks: gold S 0-5, NP 0-4, VP 4-5; test S 0-5, NP 0-3, VP 3-5, ADJP 4-5.
    assert (found.matched, found.gold, found.test, found.crossing) == (1, 3, 4, 1)
    assert (found.words, found.correct_tags) == (5, 2)


def test_a_quotation_mark_stands_for_two_in_a_row_as_in_the_c_program() -> None:
    gold, test = '(S (`` ") (NN gene))', '(S (NN ") (NN ") (NN gene))'
    found = score(gold, test, read_rules(NEW))
    assert (found.status, found.matched, found.words, found.correct_tags) == (VALID, 1, 3, 1)


@pytest.mark.parametrize(
    ("test", "status", "problem"),
    [
        ("", SKIPPED, "no words"),
        ("(S (. .))", SKIPPED, "no words"),
        (GOLD.replace("crew", "choir"), ERROR, "crew in gold, choir in test"),
        (GOLD.replace(" (NN crew)", ""), ERROR, "4 in gold, 3 in test"),
        (GOLD[:-1], ERROR, "test: 1 brackets are not closed"),
        (GOLD + ")", ERROR, "test: brackets are closed that were not opened"),
        (GOLD.replace("(NN crew)", "(NN crew) oh"), ERROR, "test: 'oh' does not stand in a bracket of its own"),
    ],
)
def test_a_sentence_that_fails_is_left_out_and_its_gold_brackets_are_known(
    test: str, status: int, problem: str
) -> None:
    scored = score_trees([GOLD, GOLD], [GOLD, test], RULES)
    assert scored[1].status == status
    assert problem in scored[1].problem
    total = sum_up(scored)
    assert (total.sentences, total.valid, total.errors + total.skipped) == (2, 1, 1)
    assert (total.recall, total.f1, total.complete_match) == (100, 100, 100)
    assert (total.recall_all, total.complete_match_all) == (50, 50)
    assert total.f1_all == pytest.approx(100 * 2 / 3)


def test_where_nothing_is_valid_every_figure_is_0() -> None:
    scored = score_trees([GOLD], [""], RULES)
    total = sum_up(scored)
    assert (total.recall, total.precision, total.recall_all, total.crossing) == (0, 0, 0, 0)
    assert (total.f1, total.f1_all) == (0, 0)
    ours = table(scored, RULES)
    assert "nan" not in ours
    theirs = ours.replace("FMeasure       =   0.00", "FMeasure       =   -nan")  # as the C program prints it
    assert theirs != ours
    assert figures(theirs) == figures(ours)


def test_the_cutoff_goes_by_the_length_of_the_gold_tree() -> None:
    scored = score_trees([GOLD, "(S (NN Go))"], [GOLD, "(X (NN Go))"], RULES)
    assert [sum_up(scored, cutoff).sentences for cutoff in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert sum_up(scored, 1).recall == 0


def test_different_numbers_of_trees_are_refused() -> None:
    with pytest.raises(InputError, match="2 gold trees, 1 test trees"):
        score_trees([GOLD, GOLD], [GOLD], RULES)
    with pytest.raises(InputError, match="0 gold trees, 0 test trees"):
        score_trees([], [], RULES)


def test_files_of_different_numbers_of_trees_are_named(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    files[1].write_text(f"{GOLD}\n")
    with pytest.raises(InputError, match=rf"{files[0]}: 3 lines, {files[1]}: 1 lines"):
        command(monkeypatch, *files)


@pytest.mark.fault("F31")
def test_words_keep_what_is_neither_space_nor_bracket_in_ascii() -> None:
    odd = "(X (-LRB- -LRB-) (CD 1\u00a0000) (NN a\u2028b) (NN x=y) (-RRB- -RRB-) )"
    assert score(odd, odd.replace("1\u00a0000 ", "1\u00a0000")).words == 5
    assert score("(NN dog)", "(NN dog )").status == VALID  # as some treebanks have it


@pytest.mark.fault("F31")
@pytest.mark.parametrize(
    ("gold", "brackets"),
    [
        ("(A " * 5000 + "(NN x)" + ")" * 5000, 5000),  # deep
        ("".join(f"(A{i} (NN x{i}) " for i in range(2000)) + ")" * 2000, 2000),  # deep, and long
        ("(S " + "(A (NN x)) " * 5000 + ")", 5001),  # bushy
    ],
)
def test_thousands_of_brackets_are_scored_like_few(gold: str, brackets: int) -> None:
    assert counts(gold, gold) == (brackets, brackets, brackets, 0)
    without = re.sub(r"\(A\d* ", "(B ", gold, count=1)
    assert counts(gold, without) == (brackets - 1, brackets, brackets, 0)


# ---- Rule files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# fine\n\nDELETE_LABELS TOP\n",
            r"some\.prm, line 3: unknown key DELETE_LABELS; did you mean 'DELETE_LABEL'\?",
        ),
        ("EQ_LABEL ADVP\n", r"line 1: EQ_LABEL takes 2 value\(s\), here are 1"),
        ("DELETE_LABEL TOP # the root\n", r"line 1: DELETE_LABEL takes 1 value\(s\), here are 4"),
        ("CUTOFF_LEN forty\n", "line 1: CUTOFF_LEN takes a whole number, not forty"),
    ],
)
def test_what_evalb_would_misread_in_a_rule_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        written(tmp_path, text)


def test_a_rule_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.prm: No such file"):
        read_rules(tmp_path / "none.prm")


# ---- Real trees: against themselves, and damaged ones against a simpler computation

Tree = list[Any]  # [label, child, ...] or [tag, word]


def trees_of(path: Path) -> list[Tree]:
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    text = "\n".join(line for line in lines if not line.startswith("#"))
    stack: list[Tree] = [[]]
    for token in re.findall(r"\([^\s()]*|\)|[^\s()]+", text, re.ASCII):
        if token.startswith("("):
            stack.append([token[1:]])
        elif token == ")":
            tree = stack.pop()
            stack[-1].append(tree)
        else:
            stack[-1].append(token)
    return stack[0]


def line(tree: Tree) -> str:
    return "(" + " ".join(part if isinstance(part, str) else line(part) for part in tree) + ")"


@pytest.mark.parametrize(
    "file",
    [
        "nltk-wsj/wsj_0001-0199.mrg.gz",
        "handparsed/stanford-handparsed.mrg.gz",
        pytest.param("craft/craft-penn.tree.gz", marks=pytest.mark.slow),
        pytest.param("gum/gum-const.ptb.gz", marks=pytest.mark.slow),
    ],
)
def test_real_trees_match_themselves(treebank: Path, file: str) -> None:
    gold = [line(tree) for tree in trees_of(treebank / file)]
    for rule_file in (COLLINS, NEW):
        total = sum_up(score_trees(gold, gold, read_rules(rule_file)))
        assert total.valid == total.sentences == len(gold) > 500
        assert total.f1 == total.f1_all == total.complete_match_all == total.no_crossing == total.tagging == 100


def damaged(tree: Tree, luck: random.Random) -> list[Tree]:
    """The tree with some brackets gone, new or of other labels, and some other tags; the words as they were."""
    if isinstance(tree[1], str):
        swap = luck.random() < 0.1 and tree[0] in ("NN", "VB", "IN", "RB")
        return [["JJ" if swap else tree[0], tree[1]]]
    label, children = tree[0], [part for child in tree[1:] for part in damaged(child, luck)]
    if luck.random() < 0.1:
        label = luck.choice(["NP", "VP", "PRT", "ADVP", "S-NOM"])
    if len(children) > 2 and luck.random() < 0.1:
        place = luck.randrange(1, len(children))
        children[place - 1 : place + 1] = [["NP", *children[place - 1 : place + 1]]]
    return children if luck.random() < 0.1 else [[label, *children]]


def simple_reading(tree: Tree, deleted: set[str], words: list[str], spans: Counter[tuple[str, int, int]]) -> None:
    if isinstance(tree[1], str):
        words.extend([tree[0]] if tree[0] not in deleted else [])
        return
    start = len(words)
    for child in tree[1:]:
        simple_reading(child, deleted, words, spans)
    label = re.split("[-=]", tree[0])[0]
    if len(words) > start and label not in deleted:
        spans["ADVP" if label == "PRT" else label, start, len(words)] += 1


def test_damaged_trees_score_as_a_simpler_computation_says(treebank: Path) -> None:
    luck = random.Random(7)
    deleted = {"TOP", "-NONE-", ",", ":", "``", "''", "."}
    gold = trees_of(treebank / "nltk-wsj/wsj_0001-0199.mrg.gz")[::6]
    test = [["TOP", *damaged(tree, luck)] for tree in gold]
    scored = score_trees([line(tree) for tree in gold], [line(tree) for tree in test], RULES)
    assert 60 < sum_up(scored).f1 < 95
    for one, other, found in zip(gold, test, scored, strict=True):
        tags: tuple[list[str], list[str]] = ([], [])
        spans: tuple[Counter[tuple[str, int, int]], ...] = (Counter(), Counter())
        for side, tree in enumerate((one, other)):
            simple_reading(tree, deleted, tags[side], spans[side])
        crossing = sum(
            count
            for (_, a, b), count in spans[1].items()
            if any(a < c < b < d or c < a < d < b for _, c, d in spans[0])
        )
        expected = (spans[0] & spans[1]).total(), spans[0].total(), spans[1].total(), crossing
        assert (found.matched, found.gold, found.test, found.crossing) == expected
        assert found.correct_tags == sum(a == b for a, b in zip(*tags, strict=True))


# ---- The command


def command(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr("sys.argv", ["evalb", *map(str, words)])
    evalb.main()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, test = tmp_path / "gold.tree", tmp_path / "test.tree"
    gold.write_text(f"{GOLD}\n{GOLD}\n{GOLD}\n")
    test.write_text(f"{GOLD}\n{GOLD.replace('(VP', '(NP')}\n\n")
    return gold, test


def player(tmp_path: Path, printed: str, ends: str = "") -> Path:
    """A program that prints what EVALB would, which is `printed` without our last block; it keeps its arguments."""
    (tmp_path / "printed").write_text(printed.partition("\n-- All, and")[0])
    script = tmp_path / "evalb"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/given\ncat {tmp_path}/printed\n{ends}\n')
    script.chmod(0o755)
    return script


def test_the_command_shows_both_figures_where_sentences_fail(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, *files)
    output = capsys.readouterr()
    assert output.err == "sentence 3: no words in the test tree\n"
    assert re.findall(r"Bracketing Recall += +(\S+)", output.out) == ["87.50", "87.50", "58.33"]
    command(monkeypatch, files[0], files[0], "--rules", NEW)
    output = capsys.readouterr()
    assert output.err == ""
    assert re.findall(r"Bracketing Recall += +(\S+)", output.out) == ["100.00", "100.00"]


def test_the_command_says_where_the_c_program_agrees(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, *files)
    ours = capsys.readouterr().out
    program = player(tmp_path, ours.replace("  87.50", " 87.50"))
    command(monkeypatch, *files, "--binary", program)
    told = capsys.readouterr().out
    assert "All: Bracketing Recall: 87.50: equal" in told
    assert told.endswith("sentences: 3 of 3 equal in every figure\n")
    assert "DIFFERENT" not in told
    assert (tmp_path / "given").read_text().startswith(f"-p {COLLINS} -e ")


def test_the_command_ends_with_1_where_the_c_program_differs(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, *files)
    row, changed = "   2    5    0   75.00", "   2    5    0   50.00"
    ours = capsys.readouterr().out
    assert row in ours
    program = player(tmp_path, ours.replace(row, changed))
    with pytest.raises(SystemExit) as ended:
        command(monkeypatch, *files, "--binary", program)
    assert ended.value.code == 1
    told = capsys.readouterr().out
    assert "sentence 2: ours 5 0 75.00" in told
    assert told.endswith("sentences: 2 of 3 equal in every figure\n")


@pytest.mark.fault("F31")
def test_the_c_program_is_not_given_what_it_cannot_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    short, deep = tmp_path / "short", tmp_path / "deep"
    short.write_text(f"{GOLD}\n")
    deep.write_text("(A " * 300 + "(NN x)" + ")" * 300 + f"\n{GOLD}\n(NN dog )\n")
    command(monkeypatch, short, short)
    program = player(tmp_path, capsys.readouterr().out)
    command(monkeypatch, deep, deep, "--binary", program)
    told = capsys.readouterr().out
    assert "It cannot take 2 of the sentences" in told
    assert told.endswith("sentences: 1 of 1 equal in every figure\n")


def test_a_binary_that_fails_is_named(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"evalb: exit code 3 \(too many\)"):
        command(monkeypatch, *files, "--binary", player(tmp_path, "", "echo too many >&2; exit 3"))
    with pytest.raises(InputError, match="nothing: cannot be run"):
        command(monkeypatch, *files, "--binary", tmp_path / "nothing")
