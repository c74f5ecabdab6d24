"""The Transformer of "Attention Is All You Need" (arXiv 1706.03762) as a small library."""

from transformer.io.start import name_the_user, open_missing_streams

open_missing_streams()
name_the_user()
