"""What a race between two servers promises, on recorded answers of a real one."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from specdemo import metrics
from specdemo.events import FinishReason, TokenOutcome
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import Servers, read_settings
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR, Fates, Snapshot
from specdemo.trace_file import TraceFile, dump, parse
from tests.remote.stand_in import Behaviour, lines_of, token_ids_of, told_of, two

A, R, N = TokenOutcome.ACCEPTED, TokenOutcome.REJECTED, TokenOutcome.NORMAL


def asked(**changes: object) -> DecodeRequest:
    options: dict[str, object] = {
        "prompt": "What is rain?", "pair": SERVER_PAIR, "draft_source": SERVER_DRAFTS,
        "max_new_tokens": 48,
    }  # fmt: skip
    return DecodeRequest(**{**options, **changes})  # type: ignore[arg-type]


def session(servers: Servers) -> DecodeSession:
    return DecodeSession(replace(read_settings({}), servers=servers))


def raced(servers: Servers, **changes: object) -> Snapshot:
    *_, last = session(servers).run(asked(**changes), Event())
    return last


def race(recording: str, **behaviour: object) -> Snapshot:
    """The last snapshot of a race against the recording of a speculative server."""
    kind = recording.split("-")[1]
    plain = Behaviour("plain-chat" if kind == "late" else f"plain-{kind}")
    with two(plain, Behaviour(recording, **behaviour)) as servers:  # type: ignore[arg-type]
        return raced(servers)


def outcomes(snapshot: Snapshot) -> list[str]:
    return [
        "".join(t.outcome.value[0] for t in finished.judged)
        for finished in snapshot.speculative.trace.rounds
    ]


def test_both_lanes_hold_what_the_servers_sent() -> None:
    last = race("draft-chat")
    assert last.normal.trace.token_ids == token_ids_of("plain-chat")
    assert last.speculative.trace.token_ids == token_ids_of("draft-chat")
    assert last.normal.text == last.speculative.text
    assert last.normal.text.startswith("Rain is a fundamental element of the natural world.")
    assert metrics.compare(last).same_output is True
    assert last.is_finished
    assert last.normal.trace.prefill is not None
    assert last.normal.trace.prefill.num_prompt_tokens == 34
    assert last.normal.trace.finish_reason is FinishReason.MAX_NEW_TOKENS


def test_the_pieces_of_all_tokens_make_the_text() -> None:
    last = race("draft-chat")
    for lane in (last.normal, last.speculative):
        kept = [
            piece
            for finished, pieces in zip(lane.trace.rounds, lane.pieces, strict=True)
            for token, piece in zip(finished.judged, pieces, strict=True)
            if token.outcome.is_output
        ]
        assert "".join(kept) == lane.text
    assert ("", "", "", "", " a") not in last.speculative.pieces
    a_fundamental = last.speculative.pieces[2]
    assert [piece for piece in a_fundamental if piece] == [" a", " fundamental"]


def test_with_a_draft_model_every_fate_is_known() -> None:
    last = race("draft-chat")
    told = told_of("draft-chat")
    assert last.speculative.server is not None
    assert last.speculative.server.fates is Fates.KNOWN
    assert outcomes(last)[:3] == ["n", "ruuur", "aruur"]
    run = metrics.run_metrics(last.speculative.trace)
    assert run.mean_acceptance_length == pytest.approx(48 / 31)
    assert metrics.run_metrics(last.normal.trace).mean_acceptance_length == 1.0
    rounds = last.speculative.trace.rounds[1:]
    assert [r.num_accepted_tokens for r in rounds] == told["per_step_accepted"]
    assert [r.num_draft_tokens for r in rounds] == told["per_step_drafted"]


def test_refused_drafts_have_no_id_and_no_text() -> None:
    last = race("draft-chat")
    for finished, pieces in zip(last.speculative.trace.rounds, last.speculative.pieces):
        for token, piece in zip(finished.judged, pieces):
            if not token.outcome.is_output:
                assert (token.token_id, token.target_prob, piece) == (None, None, "")


@pytest.mark.parametrize(
    "recording", ["draft-chat", "draft-completion", "draft-repeat", "ngram-repeat", "ngram-late"]
)
def test_our_definitions_are_the_servers(recording: str) -> None:
    last = race(recording)
    told = told_of(recording)
    ours = metrics.server_metrics(last.speculative.trace)
    length = len(ours["acceptance_histogram"])
    assert ours["acceptance_histogram"] == told["acceptance_histogram"][:length]
    assert not any(told["acceptance_histogram"][length:])
    for name in set(ours) - {"acceptance_histogram"}:
        assert ours[name] == pytest.approx(told[name]), name
    run = metrics.run_metrics(last.speculative.trace)
    assert run.draft_acceptance_rate == pytest.approx(told["draft_acceptance_rate"])
    assert run.drafted_mean_acceptance_length == pytest.approx(told["mean_acceptance_length"])


def test_the_end_of_the_answer_may_cut_a_step() -> None:
    last = race("draft-completion")
    assert len(last.speculative.trace.token_ids) == 48
    final = last.speculative.trace.rounds[-1].judged
    assert [token.outcome for token in final if token.outcome.is_output] == [A, A, A, A]
    assert not any(token.outcome is R for token in final)


def test_n_grams_are_coloured_where_a_part_shows_the_step() -> None:
    last = race("ngram-repeat")
    assert last.speculative.server is not None
    assert last.speculative.server.fates is Fates.KNOWN
    # The answer ends inside what was kept.
    assert [o for o in outcomes(last) if o != "n"] == ["aaaa"]


def test_refused_n_grams_without_a_place_are_counted_all_the_same() -> None:
    # Of fourteen parts some hold several steps: nothing is coloured, everything is counted.
    last = race("ngram-completion")
    run = metrics.run_metrics(last.speculative.trace)
    assert (run.num_draft_tokens, run.num_tested_tokens, run.num_accepted_tokens) == (8, 2, 0)


def test_parts_that_came_too_late_are_not_guessed_at() -> None:
    last = race("ngram-late")
    assert last.speculative.server is not None
    assert last.speculative.server.fates is Fates.NOT_FITTING
    assert {token.outcome for token in last.speculative.trace.output_tokens} == {N}
    # How many passes wrote them is not known either, so neither is τ.
    assert metrics.run_metrics(last.speculative.trace).mean_acceptance_length is None
    assert len(last.speculative.trace.token_ids) == 48


def test_without_the_option_text_and_time_are_raced() -> None:
    last = race("draft-chat", tells_fates=False)
    assert last.speculative.server is not None
    assert last.speculative.server.fates is Fates.NOT_TOLD
    assert last.speculative.trace.token_ids == token_ids_of("draft-chat")
    assert metrics.compare(last).speedup is not None
    assert metrics.run_metrics(last.speculative.trace).acceptance_rate is None


def test_without_texts_of_tokens_nothing_is_coloured() -> None:
    last = race("draft-chat", has_detokenize=False)
    assert last.speculative.server is not None
    assert last.speculative.server.fates is Fates.NO_TEXTS
    told = told_of("draft-chat")
    run = metrics.run_metrics(last.speculative.trace)
    assert run.num_accepted_tokens == told["num_accepted_draft_tokens"]


def test_counters_are_cross_checked_and_memory_is_as_told() -> None:
    server = race("draft-chat").speculative.server
    assert server is not None
    assert server.counters_agree is True
    assert server.cache_bytes == 1_073_741_824
    others = race("draft-chat", served_to_others=1).speculative.server
    assert others is not None
    assert others.counters_agree is None, "others' drafts are in these counters"


def test_missing_metrics_are_not_reported_and_cost_no_colour() -> None:
    last = race("draft-chat", has_metrics=False)
    server = last.speculative.server
    assert server is not None
    assert (server.counters_agree, server.cache_bytes) == (None, None)
    assert server.fates is Fates.KNOWN
    assert last.speculative.memory == ()


def test_the_servers_times_stand_beside_the_clients_and_never_in_them() -> None:
    last = race("draft-chat")
    server = last.speculative.server
    assert server is not None
    assert server.first_token_seconds is not None
    assert server.generation_seconds is not None
    # The recorded server took seconds; the replay is at once.
    assert server.generation_seconds > last.speculative.trace.seconds
    run = metrics.run_metrics(last.speculative.trace)
    assert run.overhead_rate is None
    assert metrics.round_costs(last.normal.trace, last.speculative.trace) is None
    assert all(r.split is None for r in last.speculative.trace.rounds)


def test_a_saved_race_of_servers_is_read_back_whole() -> None:
    last = race("draft-chat")
    data = dump(TraceFile(last, "Rain", "2026-12-01T00:00:00+00:00"))
    assert dump(parse(data)) == data
    assert parse(data).snapshot.speculative == last.speculative


def test_what_is_asked_is_the_request() -> None:
    plain, drafting = Behaviour("plain-completion"), Behaviour("draft-completion")
    with two(plain, drafting) as servers:
        raced(
            servers, is_chat=False, temperature=0.5, top_k=7, top_p=0.9, repetition_penalty=1.1,
            seed=3,
        )  # fmt: skip
    for body in (plain.asked[0], drafting.asked[0]):
        assert body["prompt"] == "What is rain?"
        assert (body["temperature"], body["top_k"], body["top_p"]) == (0.5, 7, 0.9)
        assert (body["repetition_penalty"], body["seed"], body["max_tokens"]) == (1.1, 3, 48)


def test_recordings_are_of_a_real_server() -> None:
    assert '"system_fingerprint":"vllm-0.32.0' in lines_of("draft-chat")[-2]
