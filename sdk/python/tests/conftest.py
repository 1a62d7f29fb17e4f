"""What the tests share: the real gateway, and the HTTP double that runs the cases of sdk/fixtures."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from slipbox import Slipbox

ONLY_WHERE_LISTED = ("idempotency-key", "if-match", "slipbox-create")
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def key_of(case: dict[str, Any]) -> str | Callable[[], str]:
    """Returns the key of a case, or the function that returns its keys one after the other."""
    keys = list(case.get("keys", []))
    return (lambda: keys.pop(0) if len(keys) > 1 else keys[0]) if keys else "test-key"


@pytest.fixture(scope="session")
def gateway() -> tuple[str, str]:
    """Address and key of a running gateway, which the scaffolding of the clients' tests starts."""
    url, key = os.environ.get("SLIPBOX_URL"), os.environ.get("SLIPBOX_KEY") or os.environ.get("SLIPBOX_API_KEY")
    assert url and key, "set SLIPBOX_URL and SLIPBOX_KEY to a running gateway and its key"
    # What Slipbox() finds by itself.
    os.environ["SLIPBOX_KEY"] = key
    return url, key


@pytest.fixture
def client(gateway: tuple[str, str]) -> Iterator[Slipbox]:
    with Slipbox(*gateway) as client:
        yield client


class Double:
    """A server that answers the exchanges of a case in order, and collects what was wrong with the requests."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.left: list[dict[str, Any]] = list(case["exchanges"])
        self.wrong: list[str] = []
        self.headers: list[dict[str, str]] = []
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                double.answer(self, body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self) -> "Double":
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Compares a request with the next one that is expected, and answers it."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        if not self.left:
            self.wrong.append(f"one request too many: {handler.command} {handler.path}")
            handler.send_error(599)
            return
        exchange = self.left.pop(0)
        self.compare(exchange["request"], handler.command, handler.path, headers, body)
        self.headers.append(headers)
        answer = exchange["answer"]
        handler.close_connection = True
        if answer.get("lost"):
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        payload = answer.get("text", "")
        if "body" in answer:
            payload = json.dumps(answer["body"])
        if "lines" in answer:
            payload = "".join(json.dumps(line) + "\n" for line in answer["lines"])
        handler.send_response(answer["status"])
        for name, value in answer.get("headers", {}).items():
            handler.send_header(name, value)
        if answer["status"] != 204:
            handler.send_header("content-length", str(len(payload.encode())))
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.wfile.write(payload.encode())

    def compare(self, want: dict[str, Any], method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        """Adds what differs from the expected request to wrong."""
        url = urlsplit(target)
        content: Any = None
        if "file" in want:
            head = f"content-type: {headers['content-type']}\r\n\r\n"
            part = next(message_from_bytes(head.encode() + body, policy=default).iter_parts())
            content = {"name": part.get_filename(), "text": part.get_content()}
        elif "lines" in want:
            content = [json.loads(line) for line in body.splitlines()]
        elif body:
            content = json.loads(body)
        got = {
            "method": method,
            "path": url.path,
            "query": dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))),
            "body": content,
        }
        expected = {
            "method": want["method"],
            "path": want["path"],
            "query": want.get("query", {}),
            "body": want.get("file", want.get("lines", want.get("body"))),
        }
        self.wrong += [f"{k}: {got[k]!r} instead of {expected[k]!r}" for k in got if got[k] != expected[k]]
        for name, value in want["headers"].items():
            if name not in headers or (value != "*" and headers[name] != value) or not headers[name]:
                self.wrong.append(f"header {name}: {headers.get(name)!r} instead of {value!r}")
        self.wrong += [
            f"header {name} was sent" for name in ONLY_WHERE_LISTED if name in headers and name not in want["headers"]
        ]

    def check(self) -> None:
        """Fails when requests were wrong or missing."""
        for name in self.case.get("same", []):
            values = {headers.get(name) for headers in self.headers}
            if len(values) != 1:
                self.wrong.append(f"header {name} has the values {values}")
        if self.left:
            self.wrong.append(f"{len(self.left)} requests were not sent")
        assert not self.wrong, "; ".join(self.wrong)
