"""CTranslate2: our weights as tasks/export/ctranslate2_model.py writes them."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import ctranslate2

from benchmarks.contenders.job import device
from benchmarks.translators.job import Job, Sentences, measure
from tasks.export.ctranslate2_model import CTranslate2Search, write


def load(job: Job) -> Callable[[Sentences], Sentences]:
    """The function that translates."""
    translator = job.translator()
    pieces = translator.subwords.pieces(range(translator.subwords.size))
    with tempfile.TemporaryDirectory() as folder:
        write(translator.model.cpu(), pieces, Path(folder), "int8" if job.precision == "int8" else "float32")
        loaded = ctranslate2.Translator(folder, device(), inter_threads=job.workers, intra_threads=job.threads)
    search = CTranslate2Search(loaded, pieces, patience=1, batch=job.batch)
    return lambda sources: [hypothesis.ids for hypothesis in search.search(sources, job.search)]


if __name__ == "__main__":
    measure(load, f"CTranslate2 {ctranslate2.__version__}")
