"""What is asked of a server, and the lines of its answer as values. Pure; knows no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specdemo.events import FinishReason, ServerSteps
from specdemo.trace import RunSettings

DONE = "[DONE]"
_FINISHED = {"stop": FinishReason.END_OF_TEXT, "length": FinishReason.MAX_NEW_TOKENS}


class NoAnswerError(ValueError):
    """A line that is no part of an answer; its text is why."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a server tells of one answer with its end, in seconds; `None` is not reported."""

    first_token_seconds: float | None = None
    queue_seconds: float | None = None
    generation_seconds: float | None = None
    steps: ServerSteps | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One line of an answer: the tokens that it adds, or what is told with the end."""

    token_ids: tuple[int, ...] = ()
    text: str = ""
    num_prompt_tokens: int | None = None
    finish_reason: FinishReason | None = None
    told: Told | None = None


def path_and_body(settings: RunSettings, model: str) -> tuple[str, dict[str, Any]]:
    """The endpoint for a request and what to send there."""
    body: dict[str, Any] = {
        "model": model,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "top_k": settings.top_k,
        "repetition_penalty": settings.repetition_penalty,
        "seed": settings.seed,
        "max_tokens": settings.max_new_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
    }
    if not settings.is_chat:
        return "/v1/completions", {**body, "prompt": settings.prompt}
    return "/v1/chat/completions", {**body, "messages": messages(settings)}


def messages(settings: RunSettings) -> list[dict[str, str]]:
    """The conversation as the API takes it."""
    turns = [*((turn.role, turn.text) for turn in settings.history), ("user", settings.prompt)]
    if settings.system_prompt.strip():
        turns.insert(0, ("system", settings.system_prompt))
    return [{"role": role, "content": text} for role, text in turns]


def part_of(line: str) -> Part | None:
    """A line of the stream; nothing for those that carry no data. Raises `NoAnswerError`."""
    if not line.startswith("data:"):
        if line and not line.startswith((":", "event:", "id:", "retry:")):
            raise NoAnswerError(line)
        return None
    try:
        content = json.loads(line.removeprefix("data:"))
        if error := error_text(content):
            raise NoAnswerError(error)
        return _part(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, NoAnswerError):
            raise
        raise NoAnswerError(line) from error


def error_text(content: Any) -> str | None:
    """The server's own words in an error, in any of the shapes in which servers send them."""
    match content:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
            return text.strip()
        case {"detail": str(text)}:
            return text.strip()
        case _:
            return None


def _part(content: Mapping[str, Any]) -> Part:
    choices = content["choices"]
    if not choices:
        return Part(
            num_prompt_tokens=content["usage"]["prompt_tokens"],
            told=_told(content.get("metrics") or {}),
        )
    choice = choices[0]
    text = choice["delta"].get("content") if "delta" in choice else choice["text"]
    prompt = content.get("prompt_token_ids") or choice.get("prompt_token_ids")
    reason = choice.get("finish_reason")
    if reason is not None and reason not in _FINISHED:
        raise NoAnswerError(f"finished with {reason!r}")
    token_ids = choice.get("token_ids")
    if text and token_ids is None:
        raise NoAnswerError("no token ids: vLLM tells them from 0.10.2 on")
    return Part(
        token_ids=tuple(map(int, token_ids or ())),
        text=text or "",
        num_prompt_tokens=len(prompt) if prompt else None,
        finish_reason=_FINISHED.get(reason),
    )


def _told(metrics: Mapping[str, Any]) -> Told:
    drafts = metrics.get("speculative_decoding") or {}
    drafted, accepted = drafts.get("per_step_drafted"), drafts.get("per_step_accepted")
    steps: ServerSteps | None = None
    if drafted is not None and accepted is not None:
        steps = ServerSteps(tuple(drafted), tuple(accepted))
    elif drafts and not drafts.get("num_spec_steps"):
        steps = ServerSteps((), ())  # nothing was drafted: the arrays are left out
    return Told(
        first_token_seconds=_seconds(metrics.get("time_to_first_token_ms")),
        queue_seconds=_seconds(metrics.get("queue_time_ms")),
        generation_seconds=_seconds(metrics.get("generation_time_ms")),
        steps=steps,
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
