"""The lines of an answer with the times at which they arrived, read in a thread of their own.

Whoever draws the answer may be slow: the clock is read where the line arrives, so drawing is in no
time. The connection is there before the clock starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from queue import Empty, SimpleQueue
from ssl import SSLContext
from threading import Event, Thread
from typing import Any, NamedTuple

import httpx

from specdemo.errors import ServerError

SILENCE_SECONDS = 300.0
CONNECT_SECONDS = 10.0
TIMEOUT = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
_CLOSING_SECONDS = 5.0


@cache
def certificates() -> SSLContext:
    """Whom to trust; read from the disk once."""
    return httpx.create_ssl_context()


class Line(NamedTuple):
    """A line, and how many seconds after the request it arrived."""

    seconds: float
    text: str


class Reading:
    """One request; its lines are taken with `next_line` while a thread reads them."""

    def __init__(
        self,
        url: str,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        *,
        refused: Callable[[httpx.Response], ServerError],
        clock: Callable[[], float],
    ) -> None:
        self._url, self._path = url, path
        self._body, self._headers = body, headers
        self._refused, self._clock = refused, clock
        self._lines: SimpleQueue[Line | Exception | None] = SimpleQueue()
        self._is_closed = Event()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = Thread(target=self._run, name="answer", daemon=True)
        self._thread.start()

    def next_line(self, patience_seconds: float) -> Line | None:
        """The next line, or nothing yet; raises what reading raised, `EOFError` at the end."""
        try:
            found = self._lines.get(timeout=patience_seconds)
        except Empty:
            return None
        if found is None:
            raise EOFError
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """Give the answer up: the server is told, and the thread ends."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(_CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        try:
            self._task = self._loop.create_task(self._read())
            self._loop.run_until_complete(self._task)
            self._lines.put(None)
        except asyncio.CancelledError:
            self._lines.put(None)
        except Exception as error:  # raised again where the lines are taken
            self._lines.put(error)

    async def _read(self) -> None:
        if self._is_closed.is_set():
            return
        async with httpx.AsyncClient(
            base_url=self._url, headers=self._headers, timeout=TIMEOUT, verify=certificates()
        ) as client:
            await client.get("/version")  # opens the connection
            started = self._clock()
            async with client.stream("POST", self._path, json=self._body) as response:
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                    raise self._refused(response)
                async for line in response.aiter_lines():
                    self._lines.put(Line(self._clock() - started, line))
