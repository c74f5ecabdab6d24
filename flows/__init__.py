"""Prefect: decides when and where the stages of dvc.yaml run."""
