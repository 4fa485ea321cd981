"""When servers are asked, how a race of theirs is stopped, and what is refused beforehand."""

from __future__ import annotations

from threading import Event

import pytest

from specdemo.errors import InvalidRequestError, ServerError
from specdemo.events import FinishReason
from specdemo.settings import Servers
from specdemo.trace import SERVER_PAIR
from tests.remote.stand_in import Behaviour, standing_in, two
from tests.remote.test_races import asked, raced, session


def test_servers_that_share_a_device_answer_one_after_another() -> None:
    plain, drafting = Behaviour(hold_before=3), Behaviour("draft-chat")
    with two(plain, drafting) as servers:
        run = session(servers).run(asked(), Event())
        for snapshot in run:
            if len(snapshot.normal.trace.rounds) == 2:
                assert drafting.asked == []
                plain.released.set()
        assert len(drafting.asked) == 1


def test_servers_on_devices_of_their_own_answer_at_once() -> None:
    plain, drafting = Behaviour(hold_before=3), Behaviour("draft-chat")
    with two(plain, drafting, are_apart=True) as servers:
        for snapshot in session(servers).run(asked(), Event()):
            if snapshot.speculative.trace.finish_reason:
                plain.released.set()
        assert snapshot.is_finished


def test_stop_gives_the_answer_up_and_keeps_what_arrived() -> None:
    plain = Behaviour(hold_before=5)
    with two(plain, Behaviour("draft-chat")) as servers:
        stop = Event()
        for snapshot in session(servers).run(asked(), stop):
            if len(snapshot.normal.trace.rounds) == 3:
                stop.set()
        assert snapshot.normal.trace.finish_reason is FinishReason.STOPPED
        assert len(snapshot.normal.trace.rounds) >= 3
        assert plain.is_given_up.wait(10)


def test_closing_the_race_gives_the_answer_up() -> None:
    plain = Behaviour(hold_before=5)
    with two(plain, Behaviour("draft-chat")) as servers:
        run = session(servers).run(asked(), Event())
        next(run)
        run.close()  # type: ignore[attr-defined]
        assert plain.is_given_up.wait(10)


def test_a_slow_first_token_is_waited_for() -> None:
    plain = Behaviour(hold_before=0)
    with two(plain, Behaviour("draft-chat")) as servers:
        run = session(servers).run(asked(), Event())
        plain.released.set()
        *_, last = run
    assert last.is_finished


def test_one_lane_alone_is_asked_of_its_server() -> None:
    plain, drafting = Behaviour(), Behaviour("draft-chat")
    with two(plain, drafting) as servers:
        *_, normal = session(servers).answer(asked(draft_source="none"), Event())
        assert (len(plain.asked), len(drafting.asked)) == (1, 0)
        *_, fast = session(servers).answer(asked(), Event())
        assert (len(plain.asked), len(drafting.asked)) == (1, 1)
    assert normal.lane.trace.token_ids == fast.lane.trace.token_ids
    assert normal.environment.versions == (("vllm", "0.32.0"),)
    assert normal.environment.pair == "smol"


def test_servers_are_asked_who_they_are_and_warmed_up() -> None:
    plain, drafting = Behaviour(), Behaviour("draft-chat")
    with two(plain, drafting) as servers:
        stages = list(session(servers).load(SERVER_PAIR))
    assert stages == ["Asking the normal server…", "Asking the speculative server…"]
    assert plain.asked[0]["max_tokens"] == drafting.asked[0]["max_tokens"] == 8


def test_exchanged_addresses_are_noticed() -> None:
    with (
        two(Behaviour("draft-chat"), Behaviour("plain-chat")) as servers,
        pytest.raises(ServerError, match=r"normal server .* decodes speculatively too"),
    ):
        list(session(servers).load(SERVER_PAIR))
    with (
        two(Behaviour(), Behaviour("plain-chat")) as servers,
        pytest.raises(ServerError, match=r"speculative server .* does not draft"),
    ):
        list(session(servers).load(SERVER_PAIR))


def test_without_addresses_the_sentence_says_where_they_go() -> None:
    with pytest.raises(InvalidRequestError, match="SPECDEMO_VLLM_NORMAL_URL"):
        next(session(Servers()).run(asked(), Event()))


def test_what_needs_the_models_says_so() -> None:
    with (
        standing_in(Behaviour()) as url,
        pytest.raises(InvalidRequestError, match="a server keeps its own"),
    ):
        session(Servers(url, url)).score(asked(), [1], Event())


def test_an_address_may_end_like_those_of_the_openai_client() -> None:
    with two(Behaviour(), Behaviour("draft-chat")) as servers:
        given = Servers(f"{servers.normal_url}/v1", f"{servers.speculative_url}/")
        assert raced(given).is_finished
