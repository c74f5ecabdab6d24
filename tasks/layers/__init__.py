"""Table 1: what four types of layers cost, measured: `python -m tasks.layers`."""
