"""This project's own search. Its batches follow its own rule, so that the job's `batch` says nothing."""

from collections.abc import Callable

import torch

from benchmarks.translators.job import Job, Sentences, measure
from tasks.export.comparison import our_search


def load(job: Job) -> Callable[[Sentences], Sentences]:
    """The function that translates."""
    torch.set_num_threads(job.threads)
    translator = job.translator()
    translator.model.to(job.dtype)
    return lambda sources: [hypothesis.ids for hypothesis in our_search(translator, sources)(job.search)]


if __name__ == "__main__":
    measure(load, "ours")
