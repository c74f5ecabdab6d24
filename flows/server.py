"""Which Prefect server a flow started by hand reports to: the one that is named and answers, else a temporary one."""

import fcntl
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from flows.errors import BadInput
from flows.waiting import say, waiting

STATE = Path(".prefect")
"""Whatever Prefect keeps about this checkout: its runs, the services' logs."""

SECONDS_BETWEEN_STARTS = 1.0
PATIENCE = 600.0  # seconds for a server to answer: starting takes 20 of processor time, which a busy machine has not


class NoServer(Exception):
    """No server could be started."""


def check_proxies() -> None:
    """BadInput if the environment names a proxy that Prefect's client cannot use, which then asks nothing at all."""
    try:
        httpx.Client().close()
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        names = [name for name, value in os.environ.items() if value and name.lower().endswith("_proxy")]
        # Their names alone: an address may hold a password.
        named = ", ".join(name for name in names if name.lower() != "no_proxy")
        reason = str(error).partition(".")[0]
        raise BadInput(f"{named}: Prefect cannot use it ({reason}); name an http:// proxy, or unset it") from None


@contextmanager
def server() -> Iterator[None]:
    """Within it flows report to the server that the environment or Prefect's profile names, or to a temporary one."""
    url = get_current_settings().api.url
    if url:
        host = urlsplit(url).netloc.rpartition("@")[2]  # the address may hold a password
        with waiting(say, f"waiting for the Prefect server at {host}"):
            there = answers(url)
        if there:
            yield
            return
        print(f"no Prefect server answers at {host}; using a temporary one", file=sys.stderr, flush=True)
    with temporary_settings({PREFECT_API_URL: _start_temporary_server()}):
        yield


def _start_temporary_server() -> str:
    """Start one that ends with this process, and no sooner: Prefect sends the last logs on its way out.

    If it is killed, as for want of memory, it starts again at the same address, before the flow gives up asking.
    """
    process, url = _start_server()
    threading.Thread(target=_keep, args=[process, urlsplit(url).port], daemon=True).start()
    return url


def _keep(process: "subprocess.Popen[str]", port: int) -> None:
    """Start the server again whenever it has been killed, be it while it starts again."""
    while True:
        process.wait()
        say("Prefect's temporary server was killed; it starts again")
        while process.poll() is not None:
            with suppress(NoServer):
                process, _ = _start_server(port)
            time.sleep(SECONDS_BETWEEN_STARTS)


def _start_server(port: int | None = None) -> tuple["subprocess.Popen[str]", str]:
    """A server that answers, and its address; NoServer if it does not come to that."""
    environment = {**os.environ, "PREFECT_SERVER_DATABASE_CONNECTION_URL": database_url()}
    environment.pop("PREFECT_API_URL", None)
    with alone(), (STATE / "temporary_server.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.temporary_server", *([str(port)] if port else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            text=True,
            start_new_session=True,
        )
        assert process.stdin and process.stdout
        with waiting(say, "waiting for Prefect's temporary server to start"):
            url = process.stdout.readline().strip()
            deadline = time.monotonic() + PATIENCE
            while not (url and answers(url)):
                if process.poll() is not None or time.monotonic() > deadline:
                    process.kill()
                    raise NoServer(f"Prefect's temporary server did not start; see {STATE / 'temporary_server.log'}")
                time.sleep(0.1)
    return process, url


def database_url() -> str:
    """The database of this checkout's servers, unless the environment names another."""
    default = f"sqlite+aiosqlite:///{(STATE / 'prefect.db').resolve()}"
    return os.environ.get("PREFECT_SERVER_DATABASE_CONNECTION_URL", default)


@contextmanager
def alone() -> Iterator[None]:
    """One server starts at a time: two that make the tables of a new database at once both fail."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "start.lock").open("w") as lock:
        with waiting(say, "waiting for another process, which starts a Prefect server in this folder"):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def answers(url: str) -> bool:
    """Whether a Prefect server answers at `url`, its API's address."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True  # it is there; if it refuses us it will say why
    except (OSError, ValueError):
        return False
