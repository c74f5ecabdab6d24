"""A Prefect server for as long as the process lives that started it; its address is the first line it writes.

Not the one that Prefect itself would start: that belongs to the terminal, so that Ctrl-C ends it before the flow can
say how it ended, and it stays behind when its flow is killed.
"""

import os
import signal
import socket
import sys
import threading

import uvicorn
from prefect.server.api.server import create_app


def _end_with_parent() -> None:
    sys.stdin.read()  # ends when the parent closes its side or is gone
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve on a free port of 127.0.0.1 until standard input ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/api", flush=True)
    config = uvicorn.Config(create_app(ephemeral=True), log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
