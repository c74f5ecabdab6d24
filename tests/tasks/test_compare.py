"""Comparisons of two experiments: equal outputs, better ones, and test sets that differ."""

import json
from pathlib import Path

import pytest

from tasks import compare as command
from tasks.common.lines import write_lines
from tasks.compare import compare
from transformer.io.errors import InputError

REFERENCES = [f"the {colour} {thing} is here and number {i} is not" for i, (colour, thing) in enumerate(
    [(colour, thing) for colour in ("red", "green", "blue", "black") for thing in ("house", "door", "car", "tree")]
)]  # fmt: skip


def folders(
    tmp_path: Path, name: str, outputs: list[str], references: list[str] = REFERENCES, language: str = "xx"
) -> tuple[Path, Path]:
    corpus, folder = tmp_path / f"corpus-{name}", tmp_path / name
    corpus.mkdir()
    folder.mkdir()
    write_lines(corpus / f"test.{language}", references)
    write_lines(folder / f"test.{language}", outputs)
    (folder / "translation.json").write_text(json.dumps({"training": {"languages": {"target": language}}}))
    return corpus, folder


def test_much_better_outputs_have_a_small_p_and_equal_ones_a_large_one(tmp_path: Path) -> None:
    worse = [line.replace("is here", "was") for line in REFERENCES]
    good, bad, same = (
        folders(tmp_path, name, outputs)
        for name, outputs in (("good", REFERENCES), ("bad", worse), ("same", REFERENCES))
    )
    found = compare([good[0], bad[0]], [good[1], bad[1]])
    assert found["test_sentences"] == 16
    for metric in found["metrics"].values():
        assert metric["score"] > metric["baseline"]
        assert metric["p_bootstrap"] < 0.05
        assert metric["p_randomisation"] < 0.05
    assert "ar:10000" in found["metrics"]["bleu"]["signature_randomisation"]
    equal = compare([good[0], same[0]], [good[1], same[1]])["metrics"]["bleu"]
    assert (equal["p_bootstrap"], equal["p_randomisation"]) == (1, 1)


@pytest.mark.fault("F29")
def test_text_without_spaces_is_compared_by_the_tokeniser_of_its_language(tmp_path: Path) -> None:
    references = [
        f"{colour}色的{thing}在这里，第{i}号不在。" for i, colour in enumerate("红绿蓝黑") for thing in "门车树房"
    ]
    worse = [line.replace("在这里", "那") for line in references]
    good, bad = (
        folders(tmp_path, name, outputs, references, "zh") for name, outputs in (("good", references), ("bad", worse))
    )
    found = compare([good[0], bad[0]], [good[1], bad[1]])["metrics"]
    assert list(found) == ["bleu", "bleu_lowercase", "chrf"]
    assert found["bleu"]["score"] == pytest.approx(100) and found["bleu"]["baseline"] > 20
    assert "|tok:zh|" in found["bleu"]["signature_bootstrap"]


def test_other_references_and_missing_lines_are_refused(tmp_path: Path) -> None:
    one, other = folders(tmp_path, "one", REFERENCES), folders(tmp_path, "other", REFERENCES, REFERENCES[::-1])
    with pytest.raises(InputError, match="their test splits differ"):
        compare([one[0], other[0]], [one[1], other[1]])
    short = folders(tmp_path, "short", REFERENCES[1:])
    with pytest.raises(InputError, match=r"corpus-short/test\.xx: 16 lines, .*short/test\.xx: 15 lines"):
        compare([one[0], short[0]], [one[1], short[1]])
    (other[0] / "test.xx").unlink()
    with pytest.raises(InputError, match=r"corpus-other/test\.xx: no such file"):
        compare([one[0], other[0]], [one[1], other[1]])


def test_an_experiment_is_not_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is better, and the reports would print that beside it."""
    monkeypatch.setattr("sys.argv", ["compare", "tiny", "tiny"])
    with pytest.raises(InputError, match="tiny: compared with itself"):
        command.main()
