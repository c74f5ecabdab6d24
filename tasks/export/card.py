"""The README.md of an export: how to use it, how fast and good it is, how many of its outputs are the same as ours."""

from typing import Any

from tasks.common.machine import commit, describe
from tasks.common.markdown import short_commit, table
from tasks.export.agreement import ROUNDING
from transformer.translator import Config

ALPHA = 0.6
BATCH = 64

# Python for either kind of sub-words: what it needs, how it makes `sources` of lines, and text of `hypotheses`.
BPE = """import sentencepiece

subwords = sentencepiece.SentencePieceProcessor(model_file="subwords.model")
sources = subwords.encode(["A sentence."], out_type=str)
"""
BPE_TEXT = "subwords.decode(hypotheses)"
WORD_PIECES = """import json

with open("subwords.model", encoding="utf-8") as file:
    known = set(json.load(file)["pieces"][4:])


def cut(word):
    text, found = "\\u2581" + word, []
    while text:
        end = next((end for end in range(len(text), 0, -1) if text[:end] in known), 0)
        found.append(text[:end] or "<unk>")
        text = text[end or 1 :]
    return found


sources = [[piece for word in line.split(" ") for piece in cut(word)] for line in ["A sentence."]]
"""
WORD_PIECES_TEXT = '["".join(pieces).replace("\\u2581", " ").strip() for pieces in hypotheses]'


def card(name: str, config: Config, kind: str, found: dict[str, Any]) -> str:
    """What a person who finds the folder wants to know.

    `kind` is that of the sub-words, `found` as `tasks.export.comparison.compare` returns it.
    """
    needs, code, text = " sentencepiece", BPE, BPE_TEXT
    if kind == "wordpiece":
        needs, code, text = "", WORD_PIECES, WORD_PIECES_TEXT
    machine, beam = describe(devices=1), config.search.beam
    bleu = found["bleu"]
    speeds = [[search, f"{speed:,.0f}", f"{bleu[search]['score']:.2f}"] for search, speed in found["speeds"].items()]
    signatures = " or ".join(dict.fromkeys(f"`{one['signature']}`" for one in bleu.values()))
    agreements = [
        [
            search,
            f"{one.share:.1%}",
            *map(str, (one.ties, one.ours_better, one.theirs_better)),
            f"{one.score_difference:.0e}",
        ]
        for search, one in found["agreements"].items()
    ]
    sentences = next(iter(found["agreements"].values())).sentences
    return f"""# {name} for CTranslate2: {config.source_language} to {config.target_language}

The model `{name}` in the format of [CTranslate2](https://opennmt.net/CTranslate2/): it needs
`pip install ctranslate2{needs}` and no PyTorch. In this folder:

```python
import ctranslate2
{code}
translator = ctranslate2.Translator("ctranslate2-int8", inter_threads=2, intra_threads=1)  # or "ctranslate2": fp32
results = translator.translate_batch(sources, beam_size={beam}, length_penalty={ALPHA}, max_batch_size={BATCH})
hypotheses = [result.hypotheses[0] for result in results]
print({text})
```

{text_rule(config)}
`inter_threads` batches are translated side by side. Give it sentences: {longest(config)}no line is
split here as `python -m transformer` does, and unless told otherwise CTranslate2 leaves out what a source has beyond
1,024 sub-words (`max_input_length`) and ends an output at 256 (`max_decoding_length`).

## Speed and BLEU

{sentences:,} sentences of the test split, beam {beam}, from sub-words to sub-words, one run each, with the search
settings of the model for the first row and alpha {ALPHA} for the others; {machine["device"]}, torch {machine["torch"]}.
BLEU is sacreBLEU's on plain text{", case ignored" if config.text.lowercase else ""}: {signatures}.

{table(["", "sentences/s", "BLEU"], speeds)}

## The same outputs as ours

Tokens of the same sentences, compared with our search in fp32 with the same form of penalty, |Y| ^ alpha. Where they
differ, the scores say why: *ties* are within {ROUNDING:g}, decided by rounding; else one search found a better output
than the other. CTranslate2 stops when as many outputs have ended as the beam is wide, with `patience` so many times as
many; ours goes on until no other can win. In 8 bits it is another model with scores of its own. The last column is the
largest difference between two scores of one output.

{table(["", "same", "ties", "ours better", "CTranslate2 better", "score difference"], agreements)}

CTranslate2 does not have the penalty of the paper, ((5 + |Y|) / 6) ^ alpha: with its own, some outputs are not those
of `python -m transformer`, whatever the search; what that is worth, the column BLEU above shows.

From commit {short_commit(commit())}.
"""


def longest(config: Config) -> str:
    """What is known of the sources in training, as the beginning of a clause."""
    if config.longest_source is None:
        return ""
    return f"the longest source in training had {config.longest_source} sub-words, "


def text_rule(config: Config) -> str:
    """What must be done to a text before sub-words, in a sentence or two."""
    rule = "Text is Unicode NFC with single spaces and no invisible characters"
    if config.text.lowercase:
        rule += ", in lower case"
    if config.text.tokenise == "moses":
        rule += ", as tokens of sacremoses (hyphens not split, nothing escaped), and so are the outputs"
    return f"{rule}; `transformer/text/preparation.py` has the rules."
