"""The Transformer of "Attention Is All You Need" (arXiv 1706.03762) as a small library.

To be read in this order: settings, model, dropout, loss, schedule, batches, trainer, checkpoints, kv_cache, search,
alignment, translator, and the command, __main__. What these need is in packages: text (sub-words), io (files,
processes), telemetry (what a training costs). What is made with a model is in two more: parsing (section 6.3) and
inspect (attention, perplexity).

Names of tensors end with their shapes, of which each letter is a size:

    B sentences            S source positions      T target positions      N target tokens, padding left out
    D d_model              H heads                 K d_k or d_v            J those of all heads side by side
    V vocabulary
    W hypotheses of a sentence, in a search        C candidates of it      E entries of a key/value cache
    R hypotheses of all sentences that may go on   P phrases that can be open at once
    L ids that the words of a sentence take in an output
"""

from transformer.io.start import name_the_user, open_missing_streams, write_no_bytecode

write_no_bytecode()
open_missing_streams()
name_the_user()
