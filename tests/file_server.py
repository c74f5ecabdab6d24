"""A web server on this machine that gives files and, when told to, fails as servers do."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FileServer:
    """Serves `files` by name, with ranges; use as a context manager.

    Attributes:
        files: the content by name.
        tags: the ETag by name; a file without one has none.
        cuts: for each answer to come, after how many bytes the connection breaks; None for not at all.
        statuses: for each answer to come, its status instead of 200; None for that.
        answers: for each answer to come, all of it instead: (status, headers, body); None for the usual one.
        page: whether the answers are web pages.
        asked: what was asked for: (name, Range or "").
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.tags = {name: f'"{name}-1"' for name in files}
        self.cuts: list[int | None] = []
        self.statuses: list[int | None] = []
        self.answers: list[tuple[int, dict[str, str], bytes] | None] = []
        self.page = False
        self.asked: list[tuple[str, str]] = []

    def __enter__(self) -> "FileServer":
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        files = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                files.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        name, wanted = request.path[1:], request.headers["Range"] or ""
        self.asked.append((name, wanted))
        if instead := self.answers.pop(0) if self.answers else None:
            _send(request, *instead)
            return
        status = self.statuses.pop(0) if self.statuses else None
        if status or name not in self.files:
            request.send_error(status or 404)
            return
        content, start, tag = self.files[name], 0, self.tags.get(name)
        if wanted and request.headers["If-Range"] == tag:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])  # type: ignore[index]
            if start >= len(content):
                request.send_error(416)
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            request.send_response(200)
        if tag:
            request.send_header("ETag", tag)
        request.send_header("Content-Type", "text/html" if self.page else "application/x-gzip")
        request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        cut = self.cuts.pop(0) if self.cuts else None
        request.wfile.write(content[start:] if cut is None else content[start : start + cut])


def _send(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)
