"""A Prefect server for as long as the process lives that started it; its address is the first line it writes.

    python -m flows.temporary_server [PORT]    # a free one, if none is named

Not the one that Prefect itself would start: that belongs to the terminal, so that Ctrl-C ends it before the flow can
say how it ended, and it stays behind when its flow is killed. This one ends when its standard input does, and not by
SIGTERM, which may be sent to all processes at once: a flow whose server is gone asks for it for minutes.
"""

import signal
import socket
import sys
import threading

import uvicorn
from prefect.server.api.server import create_app


def main() -> None:
    """Serve on a port of 127.0.0.1 until standard input ends, as it does when the parent is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/api", flush=True)
    server = uvicorn.Server(uvicorn.Config(create_app(ephemeral=True), log_level="error", lifespan="on"))
    # Of a thread that is not the main one uvicorn takes no signals.
    serving = threading.Thread(target=server.run, args=[[listening]], daemon=True)
    serving.start()
    threading.Thread(target=_end_with_parent, args=[server], daemon=True).start()
    serving.join()


def _end_with_parent(server: uvicorn.Server) -> None:
    sys.stdin.read()
    server.should_exit = True


if __name__ == "__main__":
    main()
