from __future__ import annotations

from collections.abc import Sequence

import torch

from specdemo.engine.distribution import OneHot
from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import HybridDrafter, ModelDrafter, NgramDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import Proposal
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.events import RoundVerified, TokenOutcome
from tests.fakes import FeatureRunner, TableRunner, chain, random_table


def ngram_drafts(text: list[int], count: int = 4) -> list[tuple[int, int | None]]:
    proposals = NgramDrafter(100).propose(text, count)
    return [(proposal.token_id, proposal.source_position) for proposal in proposals]


def test_an_ngram_draft_continues_the_latest_place_where_the_text_stood() -> None:
    assert ngram_drafts([1, 2, 3, 7, 1, 2, 3, 8, 9, 1, 2, 3]) == [(8, 7), (9, 8), (1, 9), (2, 10)]


def test_the_longest_match_wins_over_a_later_shorter_one() -> None:
    assert ngram_drafts([1, 2, 3, 4, 5, 2, 3, 6, 1, 2, 3], 1) == [(4, 3)]


def test_a_text_that_does_not_repeat_gets_no_draft() -> None:
    assert ngram_drafts([1, 2, 3, 4, 5]) == []
    assert ngram_drafts([1]) == []


def test_an_ngram_draft_ends_where_the_text_ends() -> None:
    assert ngram_drafts([5, 6, 7, 5, 6], 9) == [(7, 2), (5, 3), (6, 4)]


def test_a_growing_text_is_indexed_to_its_end() -> None:
    drafter = NgramDrafter(100)
    assert list(drafter.propose([1, 2, 3], 2)) == []
    assert [p.token_id for p in drafter.propose([1, 2, 3, 1, 2], 2)] == [3, 1]
    assert [p.token_id for p in drafter.propose([1, 2, 3, 1, 2, 9, 1, 2], 1)] == [9]


def test_each_committed_token_is_drafted_from_with_the_feature_of_the_position_before_it() -> None:
    """Drafted tokens have no feature; once kept, they are encoded anew with theirs."""
    target, draft = TableRunner(random_table(9, 1)), FeatureRunner(random_table(9, 2))
    sampler = Sampler(SamplingParams(), 0)
    length = 3
    for event in generate(
        target, ModelDrafter(draft, sampler), sampler, [0, 1, 2],
        draft_length=FixedLength(3), max_new_tokens=16, end_token_ids=frozenset(),
    ):  # fmt: skip
        if isinstance(event, RoundVerified):
            # Position 0 has nothing before it; position i is given the hidden state of i − 1.
            assert draft.seen == [0.0, *map(float, range(len(draft.seen) - 1))]
            # The last round may have no room for a draft, so nothing is encoded for it.
            assert len(draft.seen) == length or not event.round.num_draft_tokens
            length += len(event.round.output_tokens)


def test_what_is_read_of_a_long_prompt_keeps_the_feature_of_the_position_before_it() -> None:
    prompt = [i % 9 for i in range(300)]
    target, draft = TableRunner(chain(9)), FeatureRunner(chain(9))
    drafter = ModelDrafter(draft, Sampler(SamplingParams(), 0))
    drafter.prefill(prompt, target.forward(prompt[:-1], 0).hidden)
    assert draft.cached == prompt[107:299]
    assert draft.seen == list(range(106, 298)), "each with the feature of the position before it"
    assert [p.token_id for p in drafter.propose(prompt, 2)] == [3, 4]
    drafter.rollback(300)
    assert draft.cached == prompt[107:]


def test_of_a_long_prompt_a_feature_reading_draft_reads_only_the_end() -> None:
    prompt = [i % 9 for i in range(500)]
    target, draft = TableRunner(chain(9)), FeatureRunner(chain(9))
    sampler = Sampler(SamplingParams(), 0)
    rounds = [
        event.round
        for event in generate(
            target, ModelDrafter(draft, sampler), sampler, prompt,
            draft_length=FixedLength(3), max_new_tokens=12, end_token_ids=frozenset(),
        )
        if isinstance(event, RoundVerified)
    ]  # fmt: skip
    assert target.num_cached_tokens - draft.num_cached_tokens > 300
    assert all(r.num_accepted_tokens == r.num_draft_tokens for r in rounds)


def test_a_feature_reading_draft_that_agrees_is_accepted_whole() -> None:
    sampler = Sampler(SamplingParams(), 0)
    drafter = ModelDrafter(FeatureRunner(chain(9)), sampler)
    events = generate(
        TableRunner(chain(9)), drafter, sampler, [0],
        draft_length=FixedLength(3), max_new_tokens=8, end_token_ids=frozenset(),
    )  # fmt: skip
    rounds = [event.round for event in events if isinstance(event, RoundVerified)]
    assert [r.num_accepted_tokens for r in rounds] == [3, 3]


def test_drafts_are_drawn_from_the_distribution_that_they_carry() -> None:
    table = torch.log(torch.tensor([[0.7, 0.3], [0.5, 0.5]]))
    sampler = Sampler(SamplingParams(1.0), 0)
    drafter = ModelDrafter(TableRunner(table), sampler)
    drafter.prefill([0], torch.empty(0, 4))
    drawn = [next(drafter_at(table, sampler)).token_id for _ in range(2000)]
    assert abs(drawn.count(0) / 2000 - 0.7) < 0.06  # six standard deviations


def drafter_at(table: torch.Tensor, sampler: Sampler):  # type: ignore[no-untyped-def]
    drafter = ModelDrafter(TableRunner(table), sampler)
    drafter.prefill([0], torch.empty(0, 4))
    return drafter.propose([0], 1)


def test_a_round_without_a_match_is_a_normal_token() -> None:
    sampler = Sampler(SamplingParams(), 0)
    events = generate(
        TableRunner(chain(50)), NgramDrafter(50), sampler, [0],
        draft_length=FixedLength(4), max_new_tokens=5, end_token_ids=frozenset(),
    )  # fmt: skip
    outcomes = [t.outcome for e in events if isinstance(e, RoundVerified) for t in e.round.judged]
    assert outcomes == [TokenOutcome.NORMAL] * 5


class Followers:
    """A table of continuations of single tokens."""

    def __init__(self, follows: dict[int, tuple[int, float]]) -> None:
        self._follows = follows

    def after(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
        return self._follows.get(token_ids[-1])


def hybrid_drafter(
    table: torch.Tensor, sampler: Sampler, follows: dict[int, tuple[int, float]]
) -> HybridDrafter:
    model = ModelDrafter(FeatureRunner(table), sampler)
    return HybridDrafter(NgramDrafter(len(table)), model, len(table), Followers(follows))


def hybrid(  # type: ignore[no-untyped-def]
    target: TableRunner,
    table: torch.Tensor,
    sampler: Sampler,
    prompt: list[int],
    follows: dict[int, tuple[int, float]] | None = None,
):
    return generate(
        target, hybrid_drafter(table, sampler, follows or {}), sampler, prompt,
        draft_length=FixedLength(3), max_new_tokens=14, end_token_ids=frozenset(),
    )  # fmt: skip


def drafted(follows: dict[int, tuple[int, float]], count: int = 3) -> list[Proposal]:
    """What a hybrid drafts after token 0, by a model that always adds one."""
    drafter = hybrid_drafter(chain(9), Sampler(SamplingParams(), 0), follows)
    drafter.prefill([0], torch.empty(0, 4))
    return list(drafter.propose([0], count))


def test_a_looked_up_token_follows_the_models_without_a_pass() -> None:
    first, second, third = drafted({1: (7, 0.5)})
    assert [p.token_id for p in (first, second, third)] == [1, 7, 8]
    assert (first.upcoming_share, second.looked_up_share, third.looked_up_share) == (0.5, 0.5, None)
    assert second.forward_seconds == 0.0
    assert second.distribution == OneHot(7, 9)


def test_only_a_nearly_sure_look_up_stands_in_for_the_models_first_token() -> None:
    assert drafted({0: (5, 0.5)})[0].token_id == 1
    assert drafted({0: (5, 0.9)})[0].token_id == 5


def test_a_look_up_that_promises_little_is_not_believed() -> None:
    assert [p.token_id for p in drafted({1: (7, 0.1)})] == [1, 2, 3]


def test_a_hybrid_copies_where_the_text_repeats_itself_and_asks_the_model_elsewhere() -> None:
    sampler = Sampler(SamplingParams(), 0)
    rounds = [
        event.round
        for event in hybrid(TableRunner(chain(6)), chain(6), sampler, [0])
        if isinstance(event, RoundVerified)
    ]
    copied = [r.judged[0].source_position is not None for r in rounds if r.num_draft_tokens]
    assert copied[0] is False
    assert copied[-1] is True


def test_a_hybrid_draft_keeps_the_greedy_answer() -> None:
    sampler = Sampler(SamplingParams(), 0)
    table = random_table(7, 5)
    answers = []
    looked_up = {2: (3, 0.9), 4: (1, 0.5), 6: (0, 0.4)}
    for events in (
        hybrid(TableRunner(table), random_table(7, 6), sampler, [0, 1, 0, 1], looked_up),
        generate(
            TableRunner(table), NoDrafter(), sampler, [0, 1, 0, 1],
            draft_length=FixedLength(0), max_new_tokens=14, end_token_ids=frozenset(),
        ),
    ):  # fmt: skip
        rounds = [event.round for event in events if isinstance(event, RoundVerified)]
        answers.append([t.token_id for r in rounds for t in r.output_tokens])
    assert answers[0] == answers[1]
