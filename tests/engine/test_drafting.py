from __future__ import annotations

import torch

from specdemo.engine.drafting import ModelDrafter, NgramDrafter
from specdemo.engine.generation import generate
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
        num_draft_tokens=3, max_new_tokens=16, end_token_ids=frozenset(),
    ):  # fmt: skip
        if isinstance(event, RoundVerified):
            # Position 0 has nothing before it; position i is given the hidden state of i − 1.
            assert draft.seen == [0.0, *map(float, range(len(draft.seen) - 1))]
            # The last round may have no room for a draft, so nothing is encoded for it.
            assert len(draft.seen) == length or not event.round.num_draft_tokens
            length += len(event.round.output_tokens)


def test_a_feature_reading_draft_that_agrees_is_accepted_whole() -> None:
    sampler = Sampler(SamplingParams(), 0)
    drafter = ModelDrafter(FeatureRunner(chain(9)), sampler)
    events = generate(
        TableRunner(chain(9)), drafter, sampler, [0],
        num_draft_tokens=3, max_new_tokens=8, end_token_ids=frozenset(),
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
        num_draft_tokens=4, max_new_tokens=5, end_token_ids=frozenset(),
    )  # fmt: skip
    outcomes = [t.outcome for e in events if isinstance(e, RoundVerified) for t in e.round.judged]
    assert outcomes == [TokenOutcome.NORMAL] * 5
