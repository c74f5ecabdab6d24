"""Scores of translations, each with the signature that says how it was computed. Different ones never compare.

- `bleu`, `chrf`, `ter`: sacreBLEU's, on plain text. `bleu_lowercase` ignores case.
- `bleu_lowercase_tokens`: on tokens in lower case as the Moses tokeniser cuts them, in which scores on Multi30k are
  published.
- `bleu_paper`: what the paper's 27.3 and 28.4 most likely are, after the script that came with the released code:
  Moses tokens, cased, compounds split at their hyphens, and multi-bleu's arithmetic. `bleu_paper_plain_quotes`: the
  same with the typographic quotes of the reference made plain, without which that script does not come to the
  paper's scale on newstest2014 (https://github.com/tensorflow/tensor2tensor/issues/317).

All counts are of lines; an empty reference is a line whose every output token is wrong. BLEU on plain text is of the
tokens that sacreBLEU has for the target language. Scores of words that spaces part (`bleu_lowercase_tokens`,
`bleu_paper`, `ter`) do not apply to text without such spaces: their score is None, and their signature says so.
"""

import re
import sys
from functools import lru_cache
from importlib.metadata import version
from itertools import compress
from typing import Any

import sacrebleu

from transformer.io.errors import InputError
from transformer.settings import TextSettings
from transformer.text.preparation import Preparation
from transformer.text.sentences import check_counts, without_spaces

Score = dict[str, Any]
NOT_APPLICABLE: Score = {"score": None, "signature": "not applicable: written without spaces between words"}

COMPOUND = re.compile(r"(\S)-(\S)")
QUOTES = str.maketrans(dict.fromkeys("„“”‟", '"'))
# What looks tokenised: a space before a full stop at the end, or before a comma with another behind it.
TOKENISED = re.compile(r"\w \.$|\w , \w|@-@")
# Any escape of HTML: a sign of a fault, whether or not it is one of those that the cleaning of training text undoes.
ESCAPED = re.compile(r"&(?:amp|quot|apos|lt|gt|#\d+|#x[0-9a-fA-F]+);")
LONGEST_FOR_TER = 1000  # words
LOOKS_TOKENISED = 0.1  # of the lines: from here on it is no accident


def all_scores(
    sources: list[str], references: list[str], hypotheses: list[str], tokens: list[str] | None, language: str
) -> dict[str, Any]:
    """Every score of one set of translations, and the BLEU of the untranslated source for comparison.

    Args:
        sources: plain text, one sentence a line.
        references: plain text.
        hypotheses: plain text.
        tokens: the hypotheses as the model wrote them, if it writes lower-cased tokens; else they are cut here.
        language: code of the target side, for the tokenisers.

    Raises:
        InputError: the text is not plain, the numbers of lines differ, there are none, or a tokeniser is missing.
    """
    tokens = _lowercase_tokens(hypotheses, language) if tokens is None else tokens
    check_counts(sources=sources, references=references, hypotheses=hypotheses, tokens=tokens)
    for name, lines in (("references", references), ("hypotheses", hypotheses)):
        check_plain(name, lines)
    return {
        "sentences": len(references),
        "empty_references": references.count(""),
        "bleu": plain_bleu(hypotheses, references, language),
        "bleu_lowercase": plain_bleu(hypotheses, references, language, lowercase=True),
        "bleu_lowercase_tokens": bleu_of_lowercase_tokens(tokens, references, language),
        "bleu_paper": papers_bleu(hypotheses, references, language),
        "bleu_paper_plain_quotes": papers_bleu(hypotheses, references, language, plain_quotes=True),
        "chrf": _sacrebleu(sacrebleu.CHRF(), hypotheses, references),
        "ter": NOT_APPLICABLE if without_spaces(references) else ter(hypotheses, references),
        "bleu_of_copied_source": plain_bleu(sources, references, language),
    }


def check_plain(name: str, lines: list[str]) -> None:
    """InputError if text that should be plain looks tokenised; a warning if it holds escapes of HTML."""
    check_not_tokenised(name, lines)
    if count := sum(map(bool, map(ESCAPED.search, lines))):
        print(f"warning: {name}: {count:,} of {len(lines):,} lines hold escapes such as &quot;", file=sys.stderr)


def check_not_tokenised(name: str, lines: list[str]) -> None:
    """InputError if text that should be plain looks tokenised.

    Scores of such text by a metric that cuts tokens itself differ by points from those of the same text as people
    write it.
    """
    if (count := sum(map(bool, map(TOKENISED.search, lines)))) > LOOKS_TOKENISED * len(lines) and count > 1:
        raise InputError(
            f"{name}: {count:,} of {len(lines):,} lines look tokenised (a space before a comma or full stop); give "
            "plain text, as people write it"
        )


def plain_bleu(hypotheses: list[str], references: list[str], language: str, lowercase: bool = False) -> Score:
    """sacreBLEU of plain text, with its signature. InputError as of `bleu_metric`, and if the lists do not fit."""
    return _sacrebleu(bleu_metric(language, references, lowercase=lowercase), hypotheses, references)


def bleu_metric(language: str, references: list[str], **options: bool) -> sacrebleu.BLEU:
    """sacreBLEU's BLEU with the tokeniser that it has for a language (zh, ja, ko), and 13a for all others.

    Where 13a would take a sentence for a word, since the references have no spaces between words, it is of characters.
    InputError if the tokeniser needs a package that is not installed.

    Args:
        language: code of the target side; what follows a hyphen (zh-cn) does not matter.
        references: plain text.
        options: of sacreBLEU.
    """
    code = language.partition("-")[0]
    try:
        metric = sacrebleu.BLEU(trg_lang=code, **options)
    except RuntimeError:
        raise InputError(
            f"BLEU of {language} is counted on the words that MeCab finds, which is not installed: run "
            f"`python -m pip install 'sacrebleu[{code}]=={version('sacrebleu')}'`"
        ) from None
    if metric.tokenizer_signature == "13a" and without_spaces(references):
        return sacrebleu.BLEU(tokenize="char", **options)
    return metric


def _sacrebleu(metric: Any, hypotheses: list[str], references: list[str]) -> Score:
    check_counts(hypotheses=hypotheses, references=references)
    result = metric.corpus_score(hypotheses, [references])
    return {"score": result.score, "signature": str(metric.get_signature())}


def ter(hypotheses: list[str], references: list[str]) -> Score:
    """sacreBLEU's TER of the lines that are not too long for it, and in the signature how many are.

    Its memory grows with the square of a line's words: 3 GB for 20,000 of them.
    """
    pairs = zip(hypotheses, references, strict=True)
    fit = [max(len(line.split()) for line in pair) <= LONGEST_FOR_TER for pair in pairs]
    if all(fit):
        return _sacrebleu(sacrebleu.TER(), hypotheses, references)
    left_out = f"{fit.count(False):,} of {len(fit):,} lines left out, of more than {LONGEST_FOR_TER:,} words"
    print(f"TER: {left_out}", file=sys.stderr)
    if not any(fit):
        return {"score": None, "signature": left_out}
    score = _sacrebleu(sacrebleu.TER(), *(list(compress(side, fit)) for side in (hypotheses, references)))
    return {**score, "signature": f"{score['signature']}|{left_out}"}


def bleu_of_tokens(hypotheses: list[str], references: list[str], tokens: str) -> Score:
    """BLEU of lines that are cut already, as multi-bleu counts it: up to 4-grams, no smoothing.

    Args:
        hypotheses: tokens with spaces between them.
        references: the same.
        tokens: how they were made, for the signature.
    """
    check_counts(hypotheses=hypotheses, references=references)
    # force: no warning, tokens are meant here
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    result = metric.corpus_score(hypotheses, [references])
    return {
        "score": result.score,
        "precisions": result.precisions,
        "brevity_penalty": result.bp,
        "output_tokens": result.sys_len,
        "reference_tokens": result.ref_len,
        "signature": f"{metric.get_signature()}|{tokens}",
    }


def bleu_of_lowercase_tokens(tokens: list[str], references: list[str], language: str) -> Score:
    """BLEU of lower-cased Moses tokens, as scores on Multi30k are published; the references are plain text."""
    if without_spaces(references):
        return NOT_APPLICABLE
    cut = _lowercase_tokens(references, language)
    return bleu_of_tokens(tokens, cut, f"lower case, tokens of {_moses_version()}")


def _lowercase_tokens(lines: list[str], language: str) -> list[str]:
    moses = Preparation(TextSettings(lowercase=True, tokenise="moses"), language)
    return [moses.prepare(line) for line in lines]


def papers_bleu(hypotheses: list[str], references: list[str], language: str, plain_quotes: bool = False) -> Score:
    """BLEU as the paper most likely has it; see the top of this module.

    InputError if compounds are split already, as they are in some copies of the data: it must be done once.
    """
    if without_spaces(references):
        return NOT_APPLICABLE
    for name, lines in (("hypotheses", hypotheses), ("references", references)):
        for number, line in enumerate(lines, start=1):
            if "##AT##" in line:
                raise InputError(f"{name}, line {number}: its compounds are split already (##AT##); give plain text")
    if plain_quotes:
        references = [line.translate(QUOTES) for line in references]
    cut, correct = ([papers_tokens(line, language) for line in side] for side in (hypotheses, references))
    quotes = ", quotes of the reference made plain" if plain_quotes else ""
    return bleu_of_tokens(cut, correct, f"cased, tokens of {_moses_version()}, compounds split{quotes}")


def papers_tokens(line: str, language: str) -> str:
    """Moses tokens, then `a-b` as `a ##AT##-##AT## b`; matches do not overlap, so of `5-0-1` the second stays."""
    tokens = _moses(language).tokenize(line, return_str=True)
    return COMPOUND.sub(r"\1 ##AT##-##AT## \2", tokens)


@lru_cache
def _moses(language: str) -> Any:
    import sacremoses

    return sacremoses.MosesTokenizer(language)


def _moses_version() -> str:
    return f"sacremoses {version('sacremoses')}"
