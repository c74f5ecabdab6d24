"""The Transformer of "Attention Is All You Need" (arXiv 1706.03762) as a small library.

To be read in this order: settings, model, dropout, loss, schedule, batches, trainer, checkpoints, search, translator,
and the command, __main__. What these need is in packages: text (sub-words), io (files, processes), telemetry (what a
training costs). What is made with a model is in two more: parsing (section 6.3) and inspect (attention, perplexity).
"""

from transformer.io.start import name_the_user, open_missing_streams

open_missing_streams()
name_the_user()
