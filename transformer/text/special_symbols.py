"""The special symbols, which have the same ids in every vocabulary."""

SYMBOLS = ("<pad>", "<unk>", "<s>", "</s>")  # as sentencepiece writes them
PAD, UNK, BOS, EOS = range(len(SYMBOLS))
