"""As much of the Hugging Face hub's API as reading the Parquet files of one data set takes, over a folder."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "c0ffee" * 6 + "c0ff"


class HubServer:
    """Serves `folder` as the data set `name` at COMMIT; use as a context manager."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    def __enter__(self) -> "HubServer":
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        place = request.path.partition("?")[0]
        if re.fullmatch(rf"/api/datasets/{self.name}/revision/(main|{COMMIT})", place):
            _send(request, 200, json.dumps({"id": self.name, "sha": COMMIT, "siblings": []}).encode())
        elif found := re.fullmatch(rf"/api/datasets/{self.name}/tree/{COMMIT}/?(.*)", place):
            folder = self.folder / found[1]
            entries = [self._entry(item) for item in sorted(folder.iterdir())] if folder.is_dir() else {}
            _send(request, 200 if entries else 404, json.dumps(entries).encode())
        elif found := re.fullmatch(rf"/datasets/{self.name}/resolve/{COMMIT}/(.+)", place):
            content = (self.folder / found[1]).read_bytes()
            wanted = re.match(r"bytes=(\d+)-(\d+)", request.headers["Range"] or "")
            start, end = (int(wanted[1]), int(wanted[2]) + 1) if wanted else (0, len(content))
            _send(request, 206 if wanted else 200, content[start:end])
        else:
            _send(request, 404, b"{}")

    def _entry(self, path: Path) -> dict[str, Any]:
        kind = "file" if path.is_file() else "directory"
        return {"type": kind, "oid": "0" * 40, "size": path.stat().st_size, "path": str(path.relative_to(self.folder))}


def _send(request: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
    request.send_response(status)
    request.send_header("ETag", '"made-up"')
    request.send_header("X-Repo-Commit", COMMIT)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)
