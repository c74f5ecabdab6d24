"""Scores of translations and of trees, and the pages that show the outputs."""
