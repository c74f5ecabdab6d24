"""A model for CTranslate2, checked against ours: `python -m tasks.export EXPERIMENT`."""
