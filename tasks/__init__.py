"""The stages of the pipeline: one module a stage, each a command (`python -m tasks.STAGE KEY`)."""
