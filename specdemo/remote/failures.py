"""What goes wrong between a client and a server, as sentences that say the way out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from specdemo.errors import ServerError
from specdemo.remote.messages import error_text

_SHOWN_CHARACTERS = 160
_REFUSED = (401, 403)
_BUSY = (429, 503)


class Failures:
    """Sentences about one server, which they name by its role and address."""

    def __init__(self, role: str, url: str) -> None:
        self._who = f"The {role} server at {url}"

    def unreachable(self, error: httpx.HTTPError) -> ServerError:
        """No connection, or none any more."""
        if isinstance(error, httpx.ReadTimeout):
            return ServerError(
                f"{self._who} has been silent for too long; look into its log, or ask for fewer "
                "new tokens."
            )
        return ServerError(
            f"{self._who} cannot be reached ({error}); start it, or correct its address."
        )

    def broken_off(self, num_tokens: int) -> ServerError:
        """A stream that ended before the answer did."""
        return ServerError(
            f"{self._who} broke off its answer after {num_tokens} tokens; look into its log and "
            "ask again."
        )

    def no_answer(self, why: object) -> ServerError:
        """Something arrived that is no answer."""
        return ServerError(
            f"{self._who} sent something that is no answer ({shortened(str(why))}); check that "
            "the address is a vLLM server's."
        )

    def status(self, response: httpx.Response, model: str) -> ServerError:
        """An answer with a status that is not 200."""
        status, said = response.status_code, shortened(said_in(response.text))
        if status in _REFUSED:
            return ServerError(
                f"{self._who} refuses the key; set SPECDEMO_VLLM_API_KEY to the one it was "
                "started with."
            )
        if status in _BUSY:
            wait = seconds_to_wait(response.headers, response.headers.get("date"))
            when = f"in {wait} seconds" if wait is not None else "later"
            return ServerError(f"{self._who} is too busy; ask again {when}.")
        if status == 404 and model and model in said:
            return ServerError(
                f"{self._who} does not serve the model {model!r} ({said}); set SPECDEMO_VLLM_MODEL "
                "to one that it serves."
            )
        if status == 404:
            return ServerError(
                f"{self._who} does not speak the OpenAI API; check that the address is a vLLM "
                "server's."
            )
        if status < 500:
            return ServerError(
                f"{self._who} refuses the request ({said}); change the prompt or the settings."
            )
        return ServerError(
            f"{self._who} failed (status {status}: {said}); look into its log and ask again."
        )

    def wrong_role(self, *, is_drafting: bool) -> ServerError:
        """A server that decodes as the other one should."""
        if is_drafting:
            return ServerError(
                f"{self._who} decodes speculatively too, so there is nothing to compare with; "
                "start it without --speculative-config."
            )
        return ServerError(
            f"{self._who} does not draft; start it with --speculative-config, or exchange the two "
            "addresses."
        )


def said_in(body: str) -> str:
    """The server's own words in the body of an error."""
    try:
        return error_text(json.loads(body)) or body.strip()
    except ValueError:
        return body.strip()


def seconds_to_wait(headers: Mapping[str, Any], date: str | None) -> int | None:
    """The Retry-After header as seconds, whether it holds a number or a time."""
    value = str(headers.get("retry-after", "")).strip()
    if value.isdecimal():
        return int(value)
    try:
        gap = parsedate_to_datetime(value) - parsedate_to_datetime(date or "")
    except (ValueError, TypeError):  # no time, or one without a zone beside one with it
        return None
    return max(0, round(gap.total_seconds()))


def shortened(text: str) -> str:
    """Text that fits into a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
