"""Faults done to a small pipeline, and what came of them: `python -m tests.faults` writes reports/faults.md."""
