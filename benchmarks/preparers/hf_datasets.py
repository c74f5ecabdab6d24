"""Text into sub-word ids with Hugging Face `datasets`: load, map with sentencepiece, save.

    python -m benchmarks.preparers.hf_datasets MODEL PROCESSES OUT SOURCE.gz TARGET.gz

The last line printed is {"subwords": their number}, for which it only looks at the lengths.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow.compute as pc
import sentencepiece


def encode(batch: dict[str, list[str]], model: sentencepiece.SentencePieceProcessor) -> dict[str, Any]:
    """Ids of both sides. One thread in each process: there is a process for each core."""
    return {side: model.encode(batch[side], num_threads=1) for side in ("source", "target")}


def main() -> None:
    """Load, map, save."""
    model_file, processes, out, *files = sys.argv[1:]
    folder = Path(out)
    sides = [
        datasets.load_dataset("text", data_files=file, split="train", cache_dir=str(folder / "cache")).rename_column(
            "text", side
        )
        for side, file in zip(("source", "target"), files, strict=True)
    ]
    pairs = datasets.concatenate_datasets(sides, axis=1)
    model = sentencepiece.SentencePieceProcessor(model_file=model_file)
    encoded = pairs.map(
        partial(encode, model=model), batched=True, num_proc=int(processes), remove_columns=["source", "target"]
    )
    encoded.save_to_disk(str(folder / "saved"), num_proc=int(processes))
    lengths = (pc.sum(pc.list_value_length(encoded.data[side])).as_py() for side in ("source", "target"))
    print(json.dumps({"subwords": sum(lengths)}))


if __name__ == "__main__":
    main()
