"""What a flow that was started by hand shows: each line once, the stage before it, no tracebacks of Prefect's."""

import logging
import sys


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        lines = record.getMessage()
        name = getattr(record, "task_run_name", None)
        return f"{name} | {lines}" if name else lines


def plain_logging() -> None:
    """Let flows and tasks log to standard output in plain lines; of Prefect itself show warnings only."""
    console = logging.StreamHandler(sys.stdout)
    console.setFormatter(_Plain())
    # The page of a temporary server is gone with it.
    console.addFilter(lambda record: not record.getMessage().startswith("View at http://127.0.0.1"))
    logging.getLogger().handlers = [console]
    logging.getLogger("prefect").setLevel(logging.WARNING)
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).setLevel(logging.INFO)
