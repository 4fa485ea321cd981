"""A local HTTP server that answers as a vLLM 0.32.0 did: recorded answers, replayed at once.

`recorded/` holds what that server sent (float32, greedy; the number before each line is when it
arrived): plain, with n-grams, and with a draft model of four tokens. In `ngram-late.txt` the server
was held up, so most of the answer arrived in one part. `texts.json` holds the tokens' texts, from
which /detokenize answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

from specdemo.settings import Servers

RECORDED = Path(__file__).with_name("recorded")
ANSWERS: dict[str, Any] = json.loads((RECORDED / "answers.json").read_text(encoding="utf-8"))
TEXTS: dict[str, str] = json.loads((RECORDED / "texts.json").read_text(encoding="utf-8"))


def lines_of(name: str) -> list[str]:
    """The lines of a recorded answer."""
    text = (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split("\t", 1)[1] for line in text.splitlines()]


def token_ids_of(name: str) -> tuple[int, ...]:
    """The token ids of a recorded answer."""
    contents = [json.loads(line[6:]) for line in lines_of(name) if "{" in line]
    return tuple(
        token_id
        for content in contents
        for choice in content["choices"]
        for token_id in choice.get("token_ids") or ()
    )


def told_of(name: str) -> dict[str, Any]:
    """What the server told of its drafts in a recorded answer."""
    told: dict[str, Any] = json.loads(lines_of(name)[-2][6:])["metrics"]["speculative_decoding"]
    return told


@dataclass
class Behaviour:
    """Which recording a server replays, and what goes wrong with it.

    `fails_with` is a status, its body and its headers; `break_after` ends the connection behind so
    many lines, from a request on; the lines before `hold_before` are sent, the others wait for
    `released`.
    """

    recording: str = "plain-chat"
    key: str | None = None
    fails_with: tuple[int, str, dict[str, str]] | None = None
    break_after: int | None = None
    breaks_from_request: int = 1
    replaced: dict[int, str] = field(default_factory=dict)
    hold_before: int | None = None
    released: Event = field(default_factory=Event)
    has_metrics: bool = True
    has_detokenize: bool = True
    tells_fates: bool = True
    served_to_others: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    num_answered: int = 0
    is_given_up: Event = field(default_factory=Event)

    @property
    def is_plain(self) -> bool:
        """Whether the recorded server drafted nothing."""
        return self.recording.startswith("plain")


@contextmanager
def standing_in(behaviour: Behaviour) -> Iterator[str]:
    """The address of a server that behaves so."""

    class Handler(_Handler):
        """The handler of this server."""

    Handler.behaviour = behaviour
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        behaviour.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def two(normal: Behaviour, speculative: Behaviour, **options: Any) -> Iterator[Servers]:
    """Two servers to race."""
    with standing_in(normal) as one, standing_in(speculative) as other:
        yield Servers(one, other, **options)


class _Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests are quiet."""

    def do_GET(self) -> None:
        its = self.behaviour
        if self.path == "/version":
            self._send(200, json.dumps(ANSWERS["version"]))
        elif self.path == "/metrics" and its.has_metrics:
            self._send(200, self._metrics())
        elif self.path == "/v1/models" and self._is_let_in():
            self._send(200, json.dumps(ANSWERS["models"]))
        elif self.path != "/v1/models":
            self._send(404, '{"detail":"Not Found"}')

    def do_POST(self) -> None:
        its = self.behaviour
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/detokenize" and its.has_detokenize:
            self._send(200, json.dumps({"prompt": "".join(TEXTS[str(i)] for i in body["tokens"])}))
        elif self.path == "/detokenize":
            self._send(404, '{"detail":"Not Found"}')
        elif self._is_let_in():
            its.asked.append(body)
            self._answer(body)

    def _is_let_in(self) -> bool:
        key = self.behaviour.key
        if key is None or self.headers["authorization"] == f"Bearer {key}":
            return True
        self._send(401, json.dumps(ANSWERS["unauthorized"]))
        return False

    def _answer(self, body: dict[str, Any]) -> None:
        its = self.behaviour
        if its.fails_with:
            status, text, headers = its.fails_with
            self._send(status, text, headers)
            return
        if body["model"] != "smol":
            self._send(404, json.dumps(ANSWERS["wrong_model"]))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        if self._break_after() is not None:
            self.send_header("content-length", "1000000")  # so the end is no end
        self.end_headers()
        self.close_connection = True
        try:
            self._stream()
            its.num_answered += 1
        except (BrokenPipeError, ConnectionResetError):
            its.is_given_up.set()

    def _stream(self) -> None:
        its = self.behaviour
        for index, line in enumerate(lines_of(its.recording)):
            if index == self._break_after():
                return
            if index == its.hold_before:
                while not its.released.wait(0.01):
                    self.wfile.write(b": still thinking\n\n")
            if not its.tells_fates and "speculative_decoding" in line:
                content = json.loads(line[6:])
                del content["metrics"]["speculative_decoding"]
                self._write(f"data: {json.dumps(content)}")
            else:
                self._write(its.replaced.get(index, line))

    def _break_after(self) -> int | None:
        its = self.behaviour
        return its.break_after if len(its.asked) >= its.breaks_from_request else None

    def _write(self, line: str) -> None:
        self.wfile.write(f"{line}\n\n".encode())

    def _metrics(self) -> str:
        """The recorded counters, moved by the answers given since."""
        its = self.behaviour
        text = (RECORDED / f"{'plain' if its.is_plain else 'draft'}-metrics.txt").read_text()
        told = {} if its.is_plain else told_of(its.recording)
        moved = {
            "spec_decode_num_drafts_total": told.get("num_spec_steps", 0),
            "spec_decode_num_draft_tokens_total": told.get("num_draft_tokens", 0),
            "spec_decode_num_accepted_tokens_total": told.get("num_accepted_draft_tokens", 0),
            'request_success_total{engine="0",finished_reason="length"': 1 + its.served_to_others,
        }
        lines = []
        for line in text.splitlines():
            by = next((n for name, n in moved.items() if line.startswith(f"vllm:{name}")), 0)
            start, value = line.rsplit(" ", 1)
            lines.append(f"{start} {float(value) + by * its.num_answered}")
        return "\n".join(lines)

    def _send(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
