"""Each thing that goes wrong is one clear sentence, and what had arrived stays."""

from __future__ import annotations

import json
from contextlib import ExitStack
from threading import Event

import pytest

from specdemo.errors import ServerError
from specdemo.settings import Servers
from specdemo.trace import Snapshot
from tests.remote.stand_in import ANSWERS, Behaviour, lines_of, standing_in, token_ids_of, two
from tests.remote.test_races import asked, session

DOWN = "http://127.0.0.1:9"  # the discard port: nobody listens


def failed(
    speculative: Behaviour, *, normal: Behaviour | None = None, **options: object
) -> tuple[str, Snapshot | None]:
    """The sentence of a race that fails, and its last snapshot."""
    with two(normal or Behaviour(), speculative, **options) as servers:
        return failure_of(servers)


def failure_of(servers: Servers) -> tuple[str, Snapshot | None]:
    last: Snapshot | None = None
    with pytest.raises(ServerError) as raised:
        for last in session(servers).run(asked(), Event()):  # noqa: B007
            pass
    sentence = str(raised.value)
    assert sentence.endswith(".") or sentence.endswith("server's.")
    assert "\n" not in sentence
    return sentence, last


def test_a_server_that_is_down() -> None:
    sentence, last = failure_of(Servers(DOWN, DOWN))
    assert sentence.startswith(f"The normal server at {DOWN} cannot be reached")
    assert "start it, or correct its address" in sentence
    assert last is None


def test_one_of_two_that_is_down_is_named_before_the_other_is_asked() -> None:
    plain = Behaviour()
    with standing_in(plain) as url:
        sentence, _ = failure_of(Servers(url, DOWN))
    assert sentence.startswith(f"The speculative server at {DOWN} cannot be reached")
    assert plain.asked == []


def test_an_address_that_is_none() -> None:
    sentence, _ = failure_of(Servers("localhost", "localhost"))
    assert "cannot be reached" in sentence
    assert "correct its address" in sentence


@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_refused_key(key: str | None) -> None:
    sentence, _ = failed(Behaviour("draft-chat", key="right"), key=key)
    assert "speculative server" in sentence
    assert "refuses the key; set SPECDEMO_VLLM_API_KEY" in sentence
    assert "wrong" not in sentence


def test_the_right_key_opens_both() -> None:
    with two(Behaviour(key="k"), Behaviour("draft-chat", key="k"), key="k") as servers:
        *_, last = session(servers).run(asked(), Event())
    assert last.is_finished
    assert "key" not in repr(servers)


@pytest.mark.parametrize(
    ("headers", "when"),
    [
        ({"retry-after": "7"}, "ask again in 7 seconds"),
        (
            {"retry-after": "Tue, 01 Dec 2099 09:00:30 GMT"},
            "ask again in ",
        ),
        ({"retry-after": "soon"}, "ask again later"),
        ({}, "ask again later"),
    ],
)
def test_a_busy_server(headers: dict[str, str], when: str) -> None:
    body = json.dumps({"error": {"message": "Too many requests"}})
    sentence, last = failed(Behaviour("draft-chat", fails_with=(429, body, headers)))
    assert "speculative server" in sentence
    assert when in sentence
    assert last is not None
    assert last.normal.trace.token_ids == token_ids_of("plain-chat")


def test_a_stream_cut_in_the_middle_keeps_what_arrived() -> None:
    sentence, last = failed(Behaviour("draft-chat", break_after=10))
    assert last is not None
    received = last.speculative.trace.token_ids
    assert 0 < len(received) < 48
    assert received == token_ids_of("draft-chat")[: len(received)]
    assert "speculative server at http" in sentence
    assert f"broke off its answer after {len(received)} tokens" in sentence
    assert last.speculative.text
    assert last.normal.trace.finish_reason is not None


def test_a_stream_that_ends_without_its_end() -> None:
    lines = lines_of("draft-chat")
    early = {len(lines) - 3: "data: [DONE]"}
    sentence, last = failed(Behaviour("draft-chat", replaced=early))
    assert "broke off its answer" in sentence
    assert last is not None


@pytest.mark.parametrize(
    "line",
    [
        'data: {"choices": [{"del',
        "<html>502</html>",
        "data: []",
        'data: {"choices": [{"text": 3}]}',
    ],
)
def test_a_malformed_part(line: str) -> None:
    sentence, last = failed(Behaviour("draft-chat", replaced={4: line}))
    assert "sent something that is no answer" in sentence
    assert "check that the address is a vLLM server's" in sentence
    assert last is not None
    assert len(last.speculative.trace.rounds) == 3


def test_an_error_in_the_middle_of_a_stream_is_the_servers_own_words() -> None:
    line = 'data: {"error": {"message": "EngineCore died", "code": 500}}'
    sentence, _ = failed(Behaviour("draft-chat", replaced={4: line}))
    assert "EngineCore died" in sentence


def test_an_aborted_answer_is_no_end() -> None:
    lines = lines_of("draft-chat")
    aborted = {len(lines) - 3: lines[-3].replace('"length"', '"abort"')}
    sentence, _ = failed(Behaviour("draft-chat", replaced=aborted))
    assert "abort" in sentence


def test_a_wrong_model_is_told_with_the_right_one() -> None:
    sentence, _ = failed(Behaviour("draft-chat"), model="nobody")
    assert "does not serve the model 'nobody'; set SPECDEMO_VLLM_MODEL to smol." in sentence


def test_a_model_that_goes_between_listing_and_asking() -> None:
    gone = (404, json.dumps(ANSWERS["wrong_model"]).replace("nobody", "smol"), {})
    sentence, _ = failed(Behaviour("draft-chat", fails_with=gone))
    assert "does not serve the model 'smol'" in sentence


def test_a_prompt_that_is_too_long_is_told_in_the_servers_words() -> None:
    refused = (400, json.dumps(ANSWERS["too_long"]), {})
    sentence, _ = failed(Behaviour("draft-chat", fails_with=refused))
    assert "maximum context length is 2048 tokens" in sentence


def test_a_server_that_fails() -> None:
    sentence, _ = failed(Behaviour("draft-chat", fails_with=(500, "Internal Server Error", {})))
    assert "failed (status 500: Internal Server Error); look into its log" in sentence


def test_token_ids_are_needed_and_the_sentence_says_from_which_version_on() -> None:
    line = 'data: {"choices": [{"delta": {"content": "Rain"}, "finish_reason": null}]}'
    sentence, _ = failed(Behaviour("draft-chat", replaced={1: line}))
    assert "0.10.2" in sentence


def test_a_key_never_gets_into_a_sentence_or_a_trace() -> None:
    with ExitStack() as stack:
        servers = stack.enter_context(
            two(
                Behaviour(key="s3cret"),
                Behaviour("draft-chat", key="s3cret", break_after=5),
                key="s3cret",
            )
        )
        sentence, last = failure_of(servers)
    assert "s3cret" not in sentence
    assert "s3cret" not in repr(last)
