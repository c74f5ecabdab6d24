"""Labelled bracketing as EVALB counts it, for trees of any parser: `python -m tasks.evalb GOLD TEST`."""
