"""In front of Gradio: which addresses answer, how much may come in, and what it may be.

Gradio offers more than this page needs: fetching from other servers, keeping states, editing code.
Whatever is not on the list is closed. Messages to the page's handlers are checked value by value.
A number that is no number is no JSON. Knows no handler and no model.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import gradio as gr
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from specdemo.ui.fields import complaint_about, is_plain
from specdemo.ui.turn import Turns

_LOGGER = logging.getLogger(__name__)
MAX_MESSAGE_BYTES = 12_000_000  # a recording of 8 MB, written as text
MAX_UPLOAD_BYTES = 64_000_000
_API = "/gradio_api"
_MESSAGES = re.compile(rf"{_API}/(queue/join|run/[\w.]+|api/[\w.]+|call/(v2/)?[\w.]+)/?")
_STREAMS = re.compile(rf"{_API}/(upload|mcp/)")  # not one message of JSON
_OPEN = {
    "GET": re.compile(
        r"/|/(config|health|theme\.css|manifest\.json|favicon\.ico|robots\.txt|plotly\.min\.js)/?"
        r"|/pwa_icon(/\d{1,4})?|/(assets|static|svelte)/.+"
        rf"|{_API}/(info|openapi\.json|startup-events|app_id|user|token|queue/(data|status))/?"
        rf"|{_API}/(heartbeat/[\w-]+|call/(v2/)?[\w.]+/\w+|upload_progress|theme\.css)"
        rf"|{_API}/file=(?!\w+:|//).+|{_API}/mcp/.*"
    ),
    "POST": re.compile(rf"{_MESSAGES.pattern}|{_API}/(cancel|reset|upload|mcp/.*)/?"),
}
_OPEN["HEAD"] = _OPEN["GET"]
_OPEN["OPTIONS"] = re.compile(f"{_OPEN['GET'].pattern}|{_OPEN['POST'].pattern}")
_OPEN["DELETE"] = re.compile(rf"{_API}/mcp/.*")
_NOT_PLAIN = "The message holds something that is no plain value."
_SESSION = re.compile(r"[\w-]{1,64}")


class Refused(Exception):
    """A request that gets no further; its message is a whole sentence."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Guard:
    """ASGI middleware around the page that it is given."""

    def __init__(self, app: ASGIApp, page: gr.Blocks) -> None:
        self._app = app
        self._page = page
        self._turns = Turns(page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or answer it with a sentence."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(send)
        try:
            await self._answered(scope, receive, answer)
        except Refused as refusal:
            await answer.refuse(refusal.code, str(refusal), scope, receive)
        except Exception:
            _LOGGER.exception("a request failed: %s", scope["method"])
            await answer.refuse(500, "Something went wrong here; try again.", scope, receive)

    async def _answered(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        path = checked_path(scope)
        limited = Limited(receive, MAX_UPLOAD_BYTES if "/upload" in path else MAX_MESSAGE_BYTES)
        limited.check_header(scope)
        if scope["method"] != "POST" or _STREAMS.match(path):
            await self._app(scope, limited, answer)
            return
        body = await limited.whole()
        message = parsed(body)
        if not _MESSAGES.fullmatch(path):
            if not is_plain(message):
                raise Refused(400, _NOT_PLAIN)
            await self._app(scope, again(body, receive), answer)
            return
        handler = self._handler(path, message)
        check = check_names if "/call/v2/" in path else check_values
        check(handler, message)
        with self._turns.taken(handler, message.get("session_hash")) as may_run:
            if not may_run:
                raise Refused(
                    429,
                    "You have a run that waits or goes on already; stop it or let it end, then "
                    "ask again.",
                )
            await self._app(scope, again(body, receive), answer)

    def _handler(self, path: str, message: Mapping[str, Any]) -> Any:
        """The function that a message is for."""
        name, index = path.rstrip("/").rsplit("/", 1)[1], message.get("fn_index")
        functions = self._page.fns
        if "/call/" in path or index is None:
            named = (f for f in functions.values() if f.api_name == name)
            found = next((f for f in named if f.api_visibility != "private"), None)
        else:
            found = functions.get(index) if isinstance(index, int) else None
        if found is None or found.fn is None:
            raise Refused(404, "There is no such endpoint here; /gradio_api/info lists them.")
        return found


class Answer:
    """Sends on what the app answers, and knows whether it has begun to."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._has_begun = False

    async def __call__(self, message: Message) -> None:
        """One part of the answer."""
        if message["type"] == "http.response.start":
            self._has_begun = True
            headers = [h for h in message["headers"] if h[0].lower() != b"x-content-type-options"]
            message = {**message, "headers": [*headers, (b"x-content-type-options", b"nosniff")]}
        await self._send(message)

    async def refuse(self, code: int, sentence: str, scope: Scope, receive: Receive) -> None:
        """A sentence in place of an answer, if none was begun."""
        if not self._has_begun:
            refusal = JSONResponse({"detail": sentence, "error": sentence}, code)
            await refusal(scope, receive, self)


class Limited:
    """A request's body that refuses to grow beyond a size."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._num_bytes = 0

    async def __call__(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._num_bytes += len(message.get("body", b""))
        self._check(self._num_bytes)
        return message

    def check_header(self, scope: Scope) -> None:
        """Refuse by what the request says of itself, before anything is read."""
        said = dict(scope["headers"]).get(b"content-length", b"0")
        self._check(int(said) if said.isdigit() else 0)

    async def whole(self) -> bytes:
        """All of it."""
        parts, has_more = [], True
        while has_more:
            message = await self()
            if message["type"] == "http.disconnect":
                raise Refused(400, "The request did not arrive whole; send it again.")
            parts.append(message.get("body", b""))
            has_more = message.get("more_body", False)
        return b"".join(parts)

    def _check(self, num_bytes: int) -> None:
        if num_bytes > self._most:
            raise Refused(413, f"This is too large; at most {self._most:,} bytes are taken.")


def again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, to be read once more; then whatever else arrives."""
    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replayed() -> Message:
        return next(parts, None) or await receive()

    return replayed


def checked_path(scope: Scope) -> str:
    """The path, if it is one that answers."""
    path = str(scope["path"])
    is_odd = any(character < " " for character in path) or ".." in unquote(path)
    allowed = _OPEN.get(scope["method"])
    if is_odd or not allowed or not allowed.fullmatch(path):
        raise Refused(404, "There is nothing at this address.")
    return path


def parsed(body: bytes) -> dict[str, Any]:
    """The message in a body."""
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The message is no JSON; send an object.") from error
    if not isinstance(message, dict):
        raise Refused(400, "The message is no JSON object; send one.")
    if not is_plain({name: value for name, value in message.items() if name != "data"}):
        raise Refused(400, _NOT_PLAIN)
    session_hash, event = message.get("session_hash"), message.get("event_data")
    if session_hash is not None and not (
        isinstance(session_hash, str) and _SESSION.fullmatch(session_hash)
    ):
        raise Refused(400, "The session is named by something else than letters and digits.")
    if not (event is None or isinstance(event, dict)):
        raise Refused(400, "What is said of the event is no plain object.")
    if message.get("batched"):
        raise Refused(400, "Nothing here takes several messages as one; send them one by one.")
    return message


def check_names(handler: Any, message: Mapping[str, Any]) -> None:
    """Refuse a message that does not name the endpoint's values; it checks them itself."""
    try:
        inspect.signature(handler.fn).bind(**message)
    except TypeError as error:
        raise Refused(400, f"The message does not fit this endpoint: {error}.") from error


def check_values(handler: Any, message: Mapping[str, Any]) -> None:
    """Refuse a message whose values are not those of the handler's fields."""
    values, fields = message.get("data"), handler.inputs
    if not isinstance(values, list) or len(values) != len(fields):
        raise Refused(400, f"The message needs a list of {len(fields)} values as its data.")
    for number, (field, value) in enumerate(zip(fields, values), start=1):
        if complaint := complaint_about(field, value):
            raise Refused(400, f"Value {number} of the message {complaint}.")
