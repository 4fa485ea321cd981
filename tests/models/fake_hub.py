"""A hub on this machine that serves folders, or answers as the real one does when it refuses."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants

SHA = "0" * 39 + "1"


class FakeHub:
    """What each repository answers: a folder of files, or a status and an error code.

    `drops_at` is the byte of a file at which its connection breaks; then either the hub answers on
    (once) or is gone for good.
    """

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        self.refusals: dict[str, tuple[int, str]] = {}
        self.seconds_to_answer = 0.0
        self.drops_at: int | None = None
        self.is_gone_after_drop = False
        self.is_gone = False
        self.requests: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.is_gone:
            self.close_connection = True
            return
        time.sleep(self.hub.seconds_to_answer)
        is_api = path.startswith("/api/models/")
        owner, name, *rest = path.removeprefix("/api/models").strip("/").split("/")
        repository = f"{owner}/{name}"
        status, code = self.hub.refusals.get(repository, (200, ""))
        # The real hub tells everybody about a gated model, and keeps only its files back.
        if status != 200 and not (is_api and code == "GatedRepo"):
            self._send(status, b"{}", {"X-Error-Code": code})
        elif repository not in self.hub.folders:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif is_api:
            self._send(200, json.dumps(self._listing(repository, rest)).encode(), {})
        else:
            self._send_file(self.hub.folders[repository] / rest[-1])

    def _listing(self, repository: str, rest: list[str]) -> object:
        files = sorted(self.hub.folders[repository].iterdir())
        if rest[:1] == ["tree"]:
            return [
                {"type": "file", "path": f.name, "size": f.stat().st_size, "oid": "1" * 40}
                for f in files
            ]
        siblings = [{"rfilename": f.name} for f in files]
        return {"id": repository, "sha": SHA, "siblings": siblings}

    def _send_file(self, file: Path) -> None:
        if not file.exists():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": SHA})
            return
        content = file.read_bytes()
        etag = hashlib.sha256(content).hexdigest()
        self._send(200, content, {"X-Repo-Commit": SHA, "ETag": f'"{etag}"'})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self._write(content)
        except OSError:
            return  # the client did not wait

    def _write(self, content: bytes) -> None:
        drops_at = self.hub.drops_at
        if drops_at is None or len(content) <= drops_at:
            self.wfile.write(content)
            return
        self.hub.drops_at, self.hub.is_gone = None, self.hub.is_gone_after_drop
        self.wfile.write(content[:drops_at])
        self.close_connection = True


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[FakeHub]:
    """A hub that the hub's own client takes for the real one."""
    hub = FakeHub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
