"""Which Prefect server a flow started by hand reports to: the one that is named and answers, else a temporary one."""

import fcntl
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect.client.orchestration import get_client
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
    PREFECT_SERVER_DATABASE_CONNECTION_URL,
    get_current_settings,
    temporary_settings,
)

STATE = Path(".prefect")
"""Whatever Prefect keeps about this checkout: its runs, logs of the services."""


def database_url() -> str:
    """The database of this checkout's servers, unless the environment names another."""
    default = f"sqlite+aiosqlite:///{(STATE / 'prefect.db').resolve()}"
    return os.environ.get("PREFECT_SERVER_DATABASE_CONNECTION_URL", default)


@contextmanager
def server() -> Iterator[None]:
    """Within it flows report to the server that the environment or Prefect's profile names, or to a temporary one."""
    url = get_current_settings().api.url
    if url and _answers(url):
        yield
        return
    if url:
        print(f"no Prefect server answers at {url}; using a temporary one", file=sys.stderr, flush=True)
    os.environ.pop("PREFECT_API_URL", None)
    settings = {PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: True, PREFECT_SERVER_DATABASE_CONNECTION_URL: database_url()}
    with temporary_settings(updates=settings, restore_defaults={PREFECT_API_URL}):
        with alone(), get_client(sync_client=True) as client:
            client.hello()
        yield


@contextmanager
def alone() -> Iterator[None]:
    """One server starts at a time: two that make the tables of a new database at once both fail."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True  # it is there; if it refuses us it will say why
    except (OSError, ValueError):
        return False
