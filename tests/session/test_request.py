from __future__ import annotations

import math

import pytest

from specdemo.errors import InvalidRequestError, PromptTooLongError
from specdemo.session.request import ChatTurn, DecodeRequest


@pytest.mark.parametrize("prompt", ["", "   ", "\n\t"])
def test_an_empty_prompt_is_refused(prompt: str) -> None:
    with pytest.raises(InvalidRequestError, match="empty"):
        DecodeRequest(prompt=prompt)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("num_draft_tokens", 0, "draft tokens"),
        ("num_draft_tokens", 17, "draft tokens"),
        ("temperature", -0.1, "temperature"),
        ("temperature", math.nan, "temperature"),
        ("top_p", 0.0, "top-p"),
        ("top_p", 1.5, "top-p"),
        ("top_k", -1, "top-k"),
        ("repetition_penalty", 0.0, "repetition penalty"),
        ("max_new_tokens", 0, "max new tokens"),
        ("max_new_tokens", 10**6, "max new tokens"),
        ("seed", -1, "seed"),
        ("pair", "gpt-5", "model pair"),
        ("precision", "float8", "precision"),
        ("quantize", "nothing", "part to quantize"),
        ("device", "tpu", "device"),
        ("draft_source", "oracle", "draft source"),
        ("order", "both", "order"),
    ],
)
def test_each_field_is_checked_and_named(field: str, value: object, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        DecodeRequest(prompt="hi", **{field: value})  # type: ignore[arg-type]


def test_a_novel_is_refused_with_its_length() -> None:
    with pytest.raises(PromptTooLongError, match="40,001 characters"):
        DecodeRequest(prompt="a" * 40_001)


def test_a_conversation_keeps_its_order() -> None:
    request = DecodeRequest(
        prompt="and now?",
        system_prompt="Be brief.",
        history=(ChatTurn("user", "hi"), ChatTurn("assistant", "hello")),
    )
    assert [m["role"] for m in request.messages] == ["system", "user", "assistant", "user"]
    assert request.messages[-1]["content"] == "and now?"


def test_temperature_zero_is_greedy() -> None:
    assert DecodeRequest(prompt="hi").is_greedy
    assert not DecodeRequest(prompt="hi", temperature=0.1).is_greedy
