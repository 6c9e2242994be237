"""An extender over HTTP that answers what a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class ExtenderServer:
    """Answers by path; a bytes answer goes out as it is, an int is a bare status."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    server: ThreadingHTTPServer = field(init=False)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, question))
                outer.content_types.append(self.headers["Content-Type"])
                answer = outer.answers[self.path](question)
                if isinstance(answer, int):
                    self.send_response(answer)
                    self.send_header("Location", "/elsewhere")
                    self.end_headers()
                    return
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving() -> Iterator[ExtenderServer]:
    made = ExtenderServer()
    thread = threading.Thread(target=lambda: made.server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()
