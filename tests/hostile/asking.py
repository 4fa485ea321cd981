"""Many messages at once to a running app, and what no answer may hold."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx

from tests.hostile.served import ROOT, Watch

SECRET = "the-secret-beside-the-work-folder"
# What an answer must never hold: traces, places on this machine, the contents of its files.
LEAKS = ("Traceback", 'File "', 'File \\"', str(ROOT), "site-packages", "root:x:", SECRET)
UNEXPECTED = r":\"status_unexpected"  # as the status line's value stands in a message
_OVER = ("process_completed", "close_stream", "unexpected_error")
_AT_ONCE = 8
_PATIENCE_SECONDS = 120.0  # an answer that never comes fails, also on a slow machine


class Answer(NamedTuple):
    """What came back for an input."""

    what: str
    code: int
    text: str


@dataclass
class App:
    """The running app, everything it answered, and everything its process touched."""

    address: str
    watch: Watch
    config: dict[str, Any]
    failures: list[logging.LogRecord] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def handlers(self) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """Every handler that runs on the server, with what its fields hold at first."""
        values = {c["id"]: c["props"].get("value") for c in self.config["components"]}
        for handler in self.config["dependencies"]:
            if handler["backend_fn"]:
                yield handler, [values[component] for component in handler["inputs"]]

    def named(self, name: str) -> tuple[dict[str, Any], list[Any]]:
        """The first handler of a name."""
        return next((h, values) for h, values in self.handlers() if h["api_name"] == name)

    def ask(self, asked: list[Callable[[httpx.AsyncClient], Awaitable[Answer]]]) -> list[Answer]:
        """All answers; raises where one is missing, fails or tells too much."""
        answers = asyncio.run(self._ask(asked))
        for answer in answers:
            assert answer.code < 500, answer
            assert not [leak for leak in LEAKS if leak in answer.text], answer
            assert UNEXPECTED not in answer.text, answer
        assert self.watch.touched == []
        assert [record.getMessage() for record in self.failures] == []
        return answers

    async def _ask(
        self, asked: list[Callable[[httpx.AsyncClient], Awaitable[Answer]]]
    ) -> list[Answer]:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(ask: Callable[[httpx.AsyncClient], Awaitable[Answer]]) -> Answer:
            async with slots, asyncio.timeout(_PATIENCE_SECONDS):
                return await ask(client)

        json_sent = {"content-type": "application/json"}
        async with httpx.AsyncClient(
            base_url=self.address, timeout=_PATIENCE_SECONDS, headers=json_sent
        ) as client:
            return list(await asyncio.gather(*map(one, asked)))

    def message(
        self, handler: dict[str, Any], values: list[Any], event: Any = None
    ) -> Callable[[httpx.AsyncClient], Awaitable[Answer]]:
        """A message to a handler through the queue, as the page sends it, and its whole answer."""
        session = f"visitor-{next(self.numbers)}"
        body = {
            "data": values, "fn_index": handler["id"], "session_hash": session,
            "event_data": event, "trigger_id": None,
        }  # fmt: skip
        what = f"{handler['api_name']} {str(values)[:80]} {str(event)[:80]}"

        async def asked(client: httpx.AsyncClient) -> Answer:
            joined = await client.post("/gradio_api/queue/join", content=json.dumps(body))
            if joined.status_code != 200:
                return Answer(what, joined.status_code, joined.text)
            given = {"session_hash": session}
            async with client.stream("GET", "/gradio_api/queue/data", params=given) as stream:
                return Answer(what, 200, await told(stream))

        return asked


async def told(stream: httpx.Response) -> str:
    """What a stream tells until its run is over."""
    lines = []
    async for line in stream.aiter_lines():
        lines.append(line)
        if line.startswith("event: ") and line[7:] in ("complete", "error"):
            break
        if line.startswith("data: ") and any(f'"{word}"' in line for word in _OVER):
            break
    return "\n".join(lines)


def posted(path: str, body: bytes) -> Callable[[httpx.AsyncClient], Awaitable[Answer]]:
    async def asked(client: httpx.AsyncClient) -> Answer:
        answer = await client.post(path, content=body)
        return Answer(f"{path} {body[:80]!r}", answer.status_code, answer.text)

    return asked


def fetched(path: str) -> Callable[[httpx.AsyncClient], Awaitable[Answer]]:
    """A request whose address is sent as it stands: a client would tidy it up."""

    async def asked(client: httpx.AsyncClient) -> Answer:
        url = client.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        head = f"GET {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.read()
        writer.close()
        return Answer(path, int(answer.split(b" ", 2)[1]), answer.decode(errors="replace"))

    return asked


def called(name: str, prompt: Any) -> Callable[[httpx.AsyncClient], Awaitable[Answer]]:
    """A call of a public endpoint by names."""

    async def asked(client: httpx.AsyncClient) -> Answer:
        body = json.dumps({"prompt": prompt, "max_new_tokens": 2})
        begun = await client.post(f"/gradio_api/call/v2/{name}", content=body)
        if begun.status_code != 200:
            return Answer(str(prompt)[:80], begun.status_code, begun.text)
        place = f"/gradio_api/call/{name}/{begun.json()['event_id']}"
        async with client.stream("GET", place) as stream:
            return Answer(str(prompt)[:80], 200, await told(stream))

    return asked
