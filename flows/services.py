"""Prefect's server, a worker and MLflow's pages on this machine's own address, started and stopped as one.

    python -m flows.services up       # stays; Ctrl-C stops all of it
    python -m flows.services down     # the same from another shell; also clears up after a killed `up`

REPRODUCE_PREFECT_PORT (4200) and REPRODUCE_MLFLOW_PORT (5000) move them. What they write goes to .prefect/*.log.
"""

import argparse
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil

from flows.deployments import POOL
from flows.errors import BadInput, files_as_input
from flows.locks import holder
from flows.processes import end_processes, marked, marked_environment
from flows.server import PATIENCE, STATE, alone, answers, check_proxies, database_url
from flows.stage import SECONDS_TO_SAVE
from flows.waiting import say, waiting

MARK = "REPRODUCE_SERVICES"  # with the checkout's folder as value
PID = STATE / "services.pid"
GRACE = SECONDS_TO_SAVE + 5.0  # in which a flow ends its stages and says so to the server


class ServiceError(Exception):
    """A service did not start or ended by itself."""


def up() -> None:
    """Start everything, say where it is, stay until it is told to stop. ServiceError if one of them ends before."""
    prefect, mlflow = _port("REPRODUCE_PREFECT_PORT", 4200), _port("REPRODUCE_MLFLOW_PORT", 5000)
    check_proxies()
    with _the_only_one():
        _check_free("REPRODUCE_PREFECT_PORT", prefect)
        os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{prefect}/api"
        os.environ["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database_url()
        running: dict[str, subprocess.Popen[bytes]] = {}
        try:
            tracking = os.environ.get("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db")
            if not tracking.startswith("http"):
                _check_free("REPRODUCE_MLFLOW_PORT", mlflow)
                running["MLflow"] = _start("mlflow", _mlflow(tracking, mlflow))
                tracking = f"http://127.0.0.1:{mlflow}"
            _start_prefect(running, prefect)
            if "MLflow" in running:
                _wait_for("MLflow", running, lambda: _get(f"{tracking}/health"))
            print(_welcome(prefect, tracking), flush=True)
            while True:
                _check_alive(running)
                time.sleep(0.5)
        except KeyboardInterrupt:
            print("stopping", flush=True)
        finally:
            _stop(running)


def down() -> None:
    """Stop what `up` started in this checkout, in whatever state it is."""
    if up := holder(PID):
        with suppress(ProcessLookupError):
            os.kill(up, signal.SIGTERM)
        with waiting(say, f"waiting for process {up}, which ends what runs; a training saves first"):
            while holder(PID):
                time.sleep(0.2)
    left = _marked()
    end_processes(_marked, GRACE)
    print("stopped" if up or left else "nothing is running")


def _start_prefect(running: dict[str, subprocess.Popen[bytes]], port: int) -> None:
    api = f"http://127.0.0.1:{port}/api"
    program = [sys.executable, "-m", "prefect"]
    with alone():
        server = [*program, "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        running["Prefect's server"] = _start("server", server)
        _wait_for("Prefect's server", running, lambda: answers(api))
    name = f"{socket.gethostname()}-{os.getpid()}"
    worker = [*program, "worker", "start", "--pool", POOL, "--type", "process", "--name", name]
    running["Prefect's worker"] = _start("worker", worker)
    _wait_for("Prefect's worker", running, lambda: name in _workers(api))
    say("deploying the experiments")
    running["flows.deployments"] = _start("deploy", [sys.executable, "-m", "flows.deployments"])
    if running.pop("flows.deployments").wait():
        raise ServiceError(f"`python -m flows.deployments` failed; see {STATE / 'deploy.log'}")


def _mlflow(tracking: str, port: int) -> list[str]:
    # One process of it: several that make the tables of a new SQLite file at once leave it broken.
    options = ["--backend-store-uri", tracking, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    return [sys.executable, "-m", "mlflow", "server", *options]


def _start(name: str, command: list[str]) -> "subprocess.Popen[bytes]":
    with (STATE / f"{name}.log").open("w") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # MLflow's job runner would keep eight idle processes for nothing that is used here.
            env={**marked_environment(MARK, str(Path.cwd())), "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
            start_new_session=True,  # Ctrl-C reaches `up` alone, which ends them in order
        )


def _stop(running: dict[str, "subprocess.Popen[bytes]"]) -> None:
    """End the flows while worker and server still hear of it, then these."""
    last = {process.pid for process in running.values()}
    parents = {process.pid for name, process in running.items() if name != "Prefect's worker"}  # its children are flows
    last |= {child.pid for process in map(_process, parents) if process for child in process.children(recursive=True)}
    end_processes(lambda: [process for process in _marked() if process.pid not in last], GRACE)
    end_processes(_marked, grace=3.0)
    for process in running.values():
        process.wait()


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _marked() -> list[psutil.Process]:
    return marked(MARK, str(Path.cwd()))


def _wait_for(name: str, running: dict[str, "subprocess.Popen[bytes]"], ready: Callable[[], Any]) -> None:
    print(f"starting {name}", flush=True)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        _check_alive(running)
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise ServiceError(f"{name} did not answer within {PATIENCE:.0f} seconds; see {STATE}/*.log")


def _check_alive(running: dict[str, "subprocess.Popen[bytes]"]) -> None:
    for name, process in running.items():
        if process.poll() is not None:
            raise ServiceError(f"{name} ended with exit code {process.returncode}; see {STATE}/*.log")


def _get(url: str) -> bool:
    with urllib.request.urlopen(url, timeout=5):
        return True


def _workers(api: str) -> list[str]:
    request = urllib.request.Request(
        f"{api}/work_pools/{POOL}/workers/filter", b"{}", {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return [worker["name"] for worker in json.load(answer) if worker["status"] == "ONLINE"]


def _port(variable: str, default: int) -> int:
    value = os.environ.get(variable, str(default))
    if not value.isdecimal() or not 0 < int(value) < 65536:
        raise BadInput(f"{variable}={value}: not a port")
    return int(value)


def _check_free(variable: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise BadInput(f"port {port} is taken by another program; set {variable} to a free one") from None


@contextmanager
def _the_only_one() -> Iterator[None]:
    """Hold the lock that says that the services of this checkout are up, and by which process."""
    STATE.mkdir(exist_ok=True)
    with PID.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"the services are up already (process {holder(PID)}); `make down` stops them") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _welcome(prefect: int, mlflow: str) -> str:
    directly = f"\n    export no_proxy={os.environ['no_proxy']}" if os.environ.get("no_proxy") else ""
    return f"""
Prefect  http://127.0.0.1:{prefect}
MLflow   {mlflow}
logs     {STATE.resolve()}/*.log

Another shell finds the server once it has run

    export PREFECT_API_URL=http://127.0.0.1:{prefect}/api{directly}

and starts a run with `prefect deployment run reproduce-paper/tiny`. Ctrl-C here, or `make down` there, stops all.
"""


def _interrupt(_signal: int, _frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m flows.services",
        description="Start or stop Prefect's server, a worker and MLflow's pages, all on 127.0.0.1.",
        epilog="Example: python -m flows.services up",
    )
    parser.add_argument("command", choices=["up", "down"])
    command = up if parser.parse_args().command == "up" else down
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _interrupt)
    try:
        with files_as_input():
            command()
    except (BadInput, ServiceError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 2 if isinstance(error, BadInput) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
