"""One script for each training that benchmarks/train.py compares; NAME.txt lists what NAME.py needs installed."""
