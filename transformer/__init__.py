"""The Transformer of "Attention Is All You Need" (arXiv 1706.03762) as a small library."""
