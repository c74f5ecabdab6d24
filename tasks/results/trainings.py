"""Which training a picture is of, and whether the scores in the tables are of another one."""

from typing import Any

from tasks.common.markdown import short_commit
from tasks.results.stored import Scores


def origin(training: dict[str, Any]) -> str:
    """Run, commit and day of a training, as the pages have them."""
    commit = short_commit(training["made_by"][-1]["commit"])
    return f"MLflow run {str(training['mlflow_run'] or 'none')[:8]}, commit {commit}, {training['date'][:10]}"


def outdated(stage: str, experiment: str, stored: dict[str, Any], scores: Scores) -> str:
    """What to say in place of something that was measured of another training than the scores; nothing as a rule."""
    if experiment not in scores or scores[experiment]["training"]["date"] == stored["training"]["date"]:
        return ""
    return f"{stage}@{experiment}: of another training than the scores; run it again"
