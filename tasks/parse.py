"""The stage `translate` where the target is trees: parse the words of valid and test, and ten sentences of our own.

    python -m tasks.translate parsing-craft

in:   data/corpora/C/{valid,test}.*  models/E/
out:  outputs/E/valid.tree  test.tree     a tree over the words of line i, in brackets, of any output, repaired
                test.well_formed.tree     the same of a search for well-formed outputs only
                valid.symbols.tree ...    what the model wrote
                valid.cut.txt  ...        numbers of the lines that the search's length limit cut
                valid.repaired.txt ...    numbers of the lines that needed repair
                translation.json          counts, perplexities, seconds, and what training.json of the model says
"""

import sys
import time
from pathlib import Path
from typing import Any

from tasks.lines import read_parallel, write_lines
from transformer.parser import Parser
from transformer.perplexity import perplexity
from transformer.subwords import UNK
from transformer.translator import Translator
from transformer.trees import write_brackets

# By the names of their files: the split, and whether only well-formed outputs are searched.
SEARCHES = {"valid": ("valid", False), "test": ("test", False), "test.well_formed": ("test", True)}


def parse_splits(translator: Translator, corpus: Path, folder: Path) -> dict[str, Any]:
    """Write the trees into a folder; counts and times of each search, by the names in `SEARCHES`."""
    parser, config = Parser(translator), translator.config
    languages = config.source_language, config.target_language
    names = {split for split, _ in SEARCHES.values()}
    texts = {split: read_parallel(*(corpus / f"{split}.{language}" for language in languages)) for split in names}
    splits: dict[str, Any] = {}
    for stem, (split, well_formed) in SEARCHES.items():
        lines, references = texts[split]
        started = time.monotonic()
        parsed = parser.parse([line.split(" ") for line in lines], show=True, well_formed=well_formed)
        seconds = time.monotonic() - started
        encoded = translator.encode(lines)
        for number, ids in enumerate(encoded, start=1):
            if len(ids) > translator.most:
                said = f"{split}, line {number}: more than the {translator.most:,} sub-words that are searched at once"
                print(f"{said}, so a flat tree", file=sys.stderr, flush=True)
        write_lines(folder / f"{stem}.tree", [write_brackets(one.tree) for one in parsed])
        write_lines(folder / f"{stem}.symbols.tree", translator.decode([one.output for one in parsed]))
        for fault, found in (("cut", [p.output.cut for p in parsed]), ("repaired", [p.repaired for p in parsed])):
            write_lines(folder / f"{stem}.{fault}.txt", [str(line) for line, so in enumerate(found, 1) if so])
        splits[stem] = {
            "sentences": len(lines),
            "cut_at_the_length_limit": sum(one.output.cut for one in parsed),
            "repaired": sum(one.repaired for one in parsed),
            "unknown_in_source": sum(ids.count(UNK) for ids in encoded),
            "seconds": seconds,
            "sentences_per_second": len(lines) / seconds,
        }
        if not well_formed:
            splits[stem]["perplexity"] = perplexity(translator, lines, references)
    return splits
