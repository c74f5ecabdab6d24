"""Where the stages keep what they write; the same folders as in dvc.yaml."""

from pathlib import Path

SOURCES = Path("data/sources")  # what is known of text outside this folder; kept in git
DOWNLOADS = Path("data/downloads")  # a cache, no stage's output
CORPORA = Path("data/corpora")
SUBWORDS = Path("data/subwords")
SHARDS = Path("data/shards")
UNPACKED = Path("data/unpacked")  # made from the shards when a training starts; no stage's output
EXPORTS = Path("exports")  # what `python -m tasks.export` writes; no stage's output
RUNS = Path("runs")
MODELS = Path("models")
OUTPUTS = Path("outputs")
REPORTS = Path("reports")
MEASURED = REPORTS / "layers" / "measured.json"  # by the stage `layers`
RELEASES = Path("releases")  # archives for others; no stage's output
