"""Scores against published ones, the paper's tokens by hand, and text that no metric should see."""

import gzip
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

from tasks.scoring import bleu as metrics
from tasks.scoring.bleu import (
    _sacrebleu,
    all_scores,
    bleu_of_lowercase_tokens,
    bleu_of_tokens,
    check_plain,
    papers_bleu,
    papers_tokens,
    plain_bleu,
)
from transformer.io.errors import InputError


@pytest.fixture
def data() -> Path:
    if "REPRO_DATA" not in os.environ:
        pytest.skip("this machine has no bleu-vectors and wmt14: REPRO_DATA is not set")
    return Path(os.environ["REPRO_DATA"])


def lines(path: Path) -> list[str]:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode().removesuffix("\n").split("\n")


def test_bleu_of_tokens_is_that_of_tensorflows_tutorial(data: Path) -> None:
    folder = data / "bleu-vectors/tensorflow-nmt"
    hypotheses = lines(folder / "newstest2013.de-en.hyp.tok.en")
    references = [line.replace("@@ ", "") for line in lines(folder / "newstest2013.de-en.ref.bpe.en")]
    # Its script ends a token at each single space: three of the hypotheses hold an empty one.
    hypotheses = [" ".join(token or "EMPTY" for token in line.split(" ")) for line in hypotheses]
    assert bleu_of_tokens(hypotheses, references, "")["score"] == pytest.approx(22.5855084573, abs=1e-10)


# Scores printed by the test of sacreBLEU (test.sh) for systems of WMT17.
WMT17 = {
    "C-3MA.4959": 22.67, "FBK.4870": 26.33, "KIT.4950": 26.08, "LIUM-NMT.4900": 26.6, "LMU-nmt-reranked.4934": 27.11,
    "LMU-nmt-single.4893": 26.56, "PROMT-Rule-based.4735": 16.61, "RWTH-nmt-ensemble.4921": 26.02,
    "SYSTRAN.4847": 26.71, "TALP-UPC.4834": 21.24, "online-A.0": 20.8, "online-B.0": 26.65, "online-F.0": 15.45,
    "online-G.0": 18.16, "uedin-nmt.4722": 28.3, "xmu.4910": 26.69,
}  # fmt: skip


@pytest.mark.parametrize(
    "system", [name if name == "uedin-nmt.4722" else pytest.param(name, marks=pytest.mark.slow) for name in WMT17]
)
def test_bleu_is_the_published_one_of_wmt17_systems(data: Path, system: str) -> None:
    folder = data / "bleu-vectors/sacrebleu-wmt17"
    hypotheses = lines(folder / f"newstest2017.{system}.en-de.txt.gz")
    references = lines(data / "wmt14/newstest2017.en-de.de")
    assert round(_sacrebleu(sacrebleu.BLEU(), hypotheses, references)["score"], 2) == WMT17[system]


@pytest.mark.slow
def test_chrf_is_the_published_one_of_a_wmt17_system(data: Path) -> None:
    hypotheses = lines(data / "bleu-vectors/sacrebleu-wmt17/newstest2017.FBK.4870.en-de.txt.gz")
    references = lines(data / "wmt14/newstest2017.en-de.de")
    assert round(_sacrebleu(sacrebleu.CHRF(), hypotheses, references)["score"], 4) == 54.7152


@pytest.mark.slow
@pytest.mark.parametrize(
    ("year", "system", "score"),
    [(2016, "base", 32.32), (2016, "bt", 34.01), (2017, "base", 26.26), (2017, "bt", 27.28)],
)
def test_bleu_is_that_of_mteval_for_outputs_of_a_transformer(data: Path, year: int, system: str, score: float) -> None:
    page = (data / f"bleu-vectors/transformer-dynet/newstest{year}.en-de.{system}.hyp.detok.sgm").read_text()
    hypotheses = re.findall(r"<seg[^>]*>(.*?)</seg>", page, re.S)
    references = lines(data / f"wmt14/newstest{year}.en-de.de")
    assert round(_sacrebleu(sacrebleu.BLEU(), hypotheses, references)["score"], 2) == score


@pytest.mark.slow
def test_bleu_is_that_of_a_log_of_fairseq_with_all_its_parts(data: Path) -> None:
    log = lines(data / "bleu-vectors/vizseq/wmt14_fr_en_test.fairseq_generate.log.gz")
    hypotheses = {match[1]: match[2] for match in filter(None, (re.match(r"H-(\d+)\t[^\t]*\t(.*)", x) for x in log))}
    references = {match[1]: match[2] for match in filter(None, (re.match(r"T-(\d+)\t(.*)", x) for x in log))}
    found = sacrebleu.BLEU(force=True).corpus_score(
        [hypotheses[key] for key in references], [list(references.values())]
    )
    assert f"{found.score:.2f} {'/'.join(f'{p:.1f}' for p in found.precisions)}" == "39.69 69.4/46.3/33.3/24.6"
    assert (round(found.bp, 3), found.sys_len, found.ref_len) == (0.986, 74884, 75945)


@pytest.mark.fault("F29")
@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("Ein E-Mail-Konto.", "Ein E ##AT##-##AT## Mail ##AT##-##AT## Konto ."),
        ("5-0-1", "5 ##AT##-##AT## 0-1"),  # matches do not overlap
        ("a-b-c-d", "a ##AT##-##AT## b-c ##AT##-##AT## d"),
        ("Da - hier", "Da - hier"),
        ("Ost- und West", "Ost- und West"),
        ("Das „Haus“", "Das „ Haus “"),
        ("R&D", "R &amp; D"),
    ],
)
def test_the_papers_tokens_by_hand(line: str, tokens: str) -> None:
    assert papers_tokens(line, "de") == tokens


@pytest.mark.fault("F29")
def test_quotes_of_the_reference_alone_are_made_plain() -> None:
    hypotheses, references = ['Er sagt "ja" zum E-Mail-Konto.'], ["Er sagt „ja“ zum E-Mail-Konto."]
    as_printed = papers_bleu(hypotheses, references, "de")
    plain = papers_bleu(hypotheses, references, "de", plain_quotes=True)
    assert plain["score"] == pytest.approx(100)
    assert as_printed["score"] < 60
    assert plain["output_tokens"] == 12
    assert "quotes of the reference made plain" in plain["signature"]
    assert "compounds split" in as_printed["signature"]


@pytest.mark.fault("F29")
def test_compounds_are_not_split_twice() -> None:
    with pytest.raises(InputError, match=r"^references, line 2: its compounds are split already"):
        papers_bleu(["a", "b-c"], ["a", "b ##AT##-##AT## c"], "de")


def test_the_papers_bleu_is_not_smoothed() -> None:
    assert papers_bleu(["a b c"], ["a b c"], "de")["score"] == 0  # no 4-gram: multi-bleu prints 0


@pytest.mark.fault("F30")
def test_tokenised_text_is_refused_and_escapes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="references: 9 of 10 lines look tokenised"):
        check_plain("references", ["A man , a plan ."] * 9 + ["A man, a plan."])
    check_plain("references", ["A man, a plan."] * 9 + ["A man , a plan ."])
    check_plain("hypotheses", ["A &quot;man&quot;", "R&D", "AT&T; it"])
    assert capsys.readouterr().err == "warning: hypotheses: 1 of 3 lines hold escapes such as &quot;\n"


@pytest.mark.fault("F30")
def test_an_empty_reference_is_a_line_like_any_other() -> None:
    scores = all_scores(["a", "b"], ["one two three four five", ""], ["one two three four five", "six"], None, "en")
    assert (scores["sentences"], scores["empty_references"]) == (2, 1)
    tokens = scores["bleu_paper"]
    assert (tokens["output_tokens"], tokens["reference_tokens"]) == (6, 5)
    assert tokens["precisions"][0] == pytest.approx(100 * 5 / 6)


SCORES = {
    "sacreBLEU": lambda hypotheses, references: plain_bleu(hypotheses, references, "de"),
    "tokens": lambda hypotheses, references: bleu_of_tokens(hypotheses, references, ""),
    "lower-cased tokens": lambda hypotheses, references: bleu_of_lowercase_tokens(hypotheses, references, "de"),
    "the paper's way": lambda hypotheses, references: papers_bleu(hypotheses, references, "de"),
}


@pytest.mark.fault("F02")
@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
def test_no_score_is_of_lists_that_do_not_fit(score: Callable[[list[str], list[str]], object]) -> None:
    """sacreBLEU cuts to the shorter one: an extra line at the top made a BLEU of 24.5 one of 0.3."""
    with pytest.raises(InputError, match="different numbers of lines: 2 hypotheses, 3 references"):
        score(["a", "b"], ["a", "b", "c"])
    with pytest.raises(InputError, match="nothing to count: 0 hypotheses, 0 references"):
        score([], [])


@pytest.mark.fault("F02")
def test_tokens_that_a_model_wrote_are_counted_too() -> None:
    with pytest.raises(InputError, match="2 sources, 2 references, 2 hypotheses, 1 tokens"):
        all_scores(["a", "b"], ["a", "b"], ["a", "b"], ["a"], "de")


# Of each pair the second lacks a word of the first; sentences of our own.
UNSPACED = {
    "zh": ["老房子的红色大门开着，现在已经很晚了。", "老房子的红色大门开着，现在已经很晚。"],
    "zh-cn": ["今天天气很好，我们去公园玩。", "今天天气很好，我们去玩。"],
    "th": ["ประตูสีแดงของบ้านเก่าเปิดอยู่ ตอนนี้ดึกแล้ว", "ประตูสีแดงของบ้านเปิดอยู่ ตอนนี้ดึกแล้ว"],
    "km": ["ទ្វារក្រហមនៃផ្ទះចាស់បើកចំហ", "ទ្វារក្រហមនៃផ្ទះបើកចំហ"],
    "xx": ["古い家の赤いドアが開いています。", "古い家のドアが開いています。"],  # a code that says nothing
}


@pytest.mark.fault("F29")
@pytest.mark.parametrize("language", UNSPACED)
def test_text_without_spaces_has_a_bleu_and_no_score_of_words(language: str) -> None:
    """As one word a sentence it would score 0.00, and by TER 100."""
    reference, hypothesis = UNSPACED[language]
    scores = all_scores(["The door."], [reference], [hypothesis], None, language)
    tokeniser = "zh" if language.startswith("zh") else "char"
    for name in ("bleu", "bleu_lowercase"):
        assert 50 < scores[name]["score"] < 100
        assert f"|tok:{tokeniser}|" in scores[name]["signature"]
    assert scores["bleu_of_copied_source"]["score"] < 5
    assert f"|tok:{tokeniser}|" in scores["bleu_of_copied_source"]["signature"]
    assert scores["chrf"]["score"] > 50
    for name in ("bleu_paper", "bleu_paper_plain_quotes", "bleu_lowercase_tokens", "ter"):
        assert scores[name] == {
            "score": None, "signature": "not applicable: written without spaces between words"
        }  # fmt: skip


@pytest.mark.fault("F29")
@pytest.mark.parametrize(("language", "reference"), [("ja", "古い家の赤いドア。"), ("ko", "오래된 집의 빨간 문.")])
def test_a_tokeniser_that_is_not_installed_is_named(
    language: str, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MeCab", "mecab_ko"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("tokenizer_ja_mecab", "tokenizer_ko_mecab"):
        monkeypatch.delitem(sys.modules, f"sacrebleu.tokenizers.{name}", raising=False)
    with pytest.raises(
        InputError, match=rf"^BLEU of {language} .*: run `python -m pip install 'sacrebleu\[{language}\]==2"
    ):
        plain_bleu([reference], [reference], language)


def test_other_languages_have_the_signature_that_they_have_had() -> None:
    scores = all_scores(["A."], ["Das Haus ist alt."], ["Das Haus war alt."], None, "de")
    assert scores["bleu"]["signature"] == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
    assert scores["bleu_lowercase"]["signature"] == "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0"
    assert all(score["score"] is not None for score in scores.values() if isinstance(score, dict))


def test_lines_too_long_for_ter_are_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hypotheses, references = ["a b c", "a " * 9, "a d"], ["a b d", "a b", "a d"]
    monkeypatch.setattr(metrics, "LONGEST_FOR_TER", 8)
    found = metrics.ter(hypotheses, references)
    expected = _sacrebleu(sacrebleu.TER(), [hypotheses[0], hypotheses[2]], [references[0], references[2]])
    left_out = "1 of 3 lines left out, of more than 8 words"
    assert found == {"score": expected["score"], "signature": f"{expected['signature']}|{left_out}"}
    assert capsys.readouterr().err == f"TER: {left_out}\n"
    assert metrics.ter(hypotheses[1:2], references[:1])["score"] is None
    monkeypatch.undo()
    assert metrics.ter(hypotheses, references) == _sacrebleu(sacrebleu.TER(), hypotheses, references)
