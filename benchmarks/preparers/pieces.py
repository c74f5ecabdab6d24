"""Text into sub-words as text, which fairseq-preprocess reads: by our own encoding, one process a language.

    python -m benchmarks.preparers.pieces MODEL FROM.en.gz TO.en [FROM.de.gz TO.de ...]

TO has a line for each line of FROM: its sub-words, parted by spaces. It prints {"subwords": their number}.
"""

import gzip
import itertools
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tasks.encoding.encoder import Encoder
from transformer.text.subwords import Subwords

BATCH = 10_000  # lines


def write_pieces(model: Path, text: Path, out: Path) -> int:
    """Write one file; return the number of its sub-words."""
    subwords = Subwords(model)
    encoder, written = Encoder(subwords), pa.array(subwords.pieces(range(subwords.size)))
    total = 0
    with gzip.open(text, "rt", encoding="utf-8", newline="\n") as lines, out.open("w", encoding="utf-8") as file:
        while batch := list(itertools.islice(lines, BATCH)):
            ids = encoder.encode(batch)
            pieces = pa.ListArray.from_arrays(ids.offsets, written.take(ids.values))
            file.write("\n".join([*pc.binary_join(pieces, " ").to_pylist(), ""]))
            total += len(ids.values)
    return total


def main() -> None:
    """Write the files named on the command line."""
    model, *files = map(Path, sys.argv[1:])
    sources, targets = files[::2], files[1::2]
    with ProcessPoolExecutor(len(sources)) as pool:
        print(json.dumps({"subwords": sum(pool.map(write_pieces, [model] * len(sources), sources, targets))}))


if __name__ == "__main__":
    main()
