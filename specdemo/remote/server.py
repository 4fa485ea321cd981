"""One server: its OpenAI API, and what vLLM adds to it. Each failure is one whole sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import httpx

from specdemo.errors import ServerError
from specdemo.remote.counters import Counters, counters_of
from specdemo.remote.failures import Failures
from specdemo.remote.messages import path_and_body
from specdemo.remote.reading import CONNECT_SECONDS, Reading, certificates
from specdemo.settings import Servers
from specdemo.trace import RunSettings

Clock = Callable[[], float]


class Role(StrEnum):
    """What a server is there for."""

    NORMAL = "normal"
    SPECULATIVE = "speculative"


class Server:
    """A server by its role; nothing is sent before something is asked."""

    def __init__(self, role: Role, servers: Servers, clock: Clock = time.perf_counter) -> None:
        self.role = role
        url = servers.normal_url if role is Role.NORMAL else servers.speculative_url
        self.url = url.rstrip("/").removesuffix("/v1")
        self.failures = Failures(role.value, self.url)
        self._headers = {"Authorization": f"Bearer {servers.key}"} if servers.key else {}
        self._client = httpx.Client(
            headers=self._headers, timeout=CONNECT_SECONDS, verify=certificates()
        )
        self._wanted_model = servers.model
        self._clock = clock

    def close(self) -> None:
        """Close the connection; the server can be asked no more."""
        self._client.close()

    def model(self) -> str:
        """The model to ask for: the one that is wanted, or the first that the server lists."""
        served = self.models()
        if self._wanted_model is None:
            return served[0]
        if self._wanted_model not in served:
            raise ServerError(
                f"The {self.role} server at {self.url} does not serve the model "
                f"{self._wanted_model!r}; set SPECDEMO_VLLM_MODEL to {' or '.join(served)}."
            )
        return self._wanted_model

    def models(self) -> list[str]:
        """The names of the models that are served."""
        response = self._get("/v1/models")
        if not response.is_success:
            raise self.failures.status(response, "")
        try:
            names = [str(model["id"]) for model in response.json()["data"]]
        except (ValueError, KeyError, TypeError) as error:
            raise self.failures.no_answer(response.text) from error
        if not names:
            raise self.failures.no_answer("no model is served")
        return names

    def version(self) -> str | None:
        """vLLM's version, if the server tells it."""
        content = _json(self._get("/version"))
        return (
            str(content["version"]) if isinstance(content, dict) and "version" in content else None
        )

    def counters(self) -> Counters | None:
        """Its counters for all requests, if it shows them."""
        response = self._get("/metrics")
        return counters_of(response.text) if response.is_success else None

    def check_role(self) -> None:
        """Raises if its counters show that it decodes as the other server should."""
        counters = self.counters()
        if counters is None or counters.drafts_at_all is None:
            return
        if counters.drafts_at_all is not (self.role is Role.SPECULATIVE):
            raise self.failures.wrong_role(is_drafting=counters.drafts_at_all)

    def text_of(self, model: str, token_ids: tuple[int, ...]) -> str | None:
        """The text of token ids, special ones included; `None` if the server does not tell it."""
        body = {"model": model, "tokens": list(token_ids)}
        try:
            response = self._client.post(f"{self.url}/detokenize", json=body)
        except httpx.HTTPError:
            return None  # the answer is there; only its colours need this
        content = _json(response)
        return str(content["prompt"]) if isinstance(content, dict) and "prompt" in content else None

    def ask(self, settings: RunSettings, model: str) -> Reading:
        """Send a request; its answer is read from now on."""
        path, body = path_and_body(settings, model)
        return Reading(
            self.url,
            path,
            body,
            self._headers,
            refused=lambda response: self.failures.status(response, model),
            clock=self._clock,
        )

    def _get(self, path: str) -> httpx.Response:
        try:
            return self._client.get(f"{self.url}{path}")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.failures.unreachable(httpx.ConnectError(str(error))) from error


def _json(response: httpx.Response) -> Mapping[str, Any] | None:
    try:
        content = response.json() if response.is_success else None
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
