"""Accept, reject, replace: the rule that makes speculative decoding lossless.

Leviathan et al. 2023 (arXiv 2211.17192, algorithm 1) and Chen et al. 2023 (arXiv 2302.01318).
Knows distributions and chance; calls no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from specdemo.engine.distribution import Distribution, residual
from specdemo.engine.protocols import Proposal
from specdemo.engine.sampling import Sampler, alternatives_of
from specdemo.events import JudgedToken, TokenOutcome

Verify: TypeAlias = Callable[
    [Sequence[Proposal], Sequence[Distribution], Sampler], tuple[JudgedToken, ...]
]


def verify(
    proposals: Sequence[Proposal], targets: Sequence[Distribution], sampler: Sampler
) -> tuple[JudgedToken, ...]:
    """Judge a draft of γ tokens by the target's γ + 1 distributions.

    Each token is kept with probability min(1, p / q); at the first refusal a token is drawn from
    the residual and the rest of the draft is left untested. If all are kept, the last row gives a
    bonus token. Whatever the draft, the output is distributed as the target's.
    """
    judged: list[JudgedToken] = []
    for index, proposal in enumerate(proposals):
        target_prob = targets[index].prob(proposal.token_id)
        draft_prob = proposal.distribution.prob(proposal.token_id)
        draw = sampler.draw()
        accepted = draw * draft_prob < target_prob
        judged.append(
            JudgedToken(
                token_id=proposal.token_id,
                outcome=TokenOutcome.ACCEPTED if accepted else TokenOutcome.REJECTED,
                target_prob=target_prob,
                draft_prob=draft_prob,
                draw=draw,
                draft_top=proposal.top,
                source_position=proposal.source_position,
                looked_up_share=proposal.looked_up_share,
            )
        )
        if not accepted:
            untested = [_untested(rest) for rest in proposals[index + 1 :]]
            return (*judged, *untested, _resample(targets[index], proposal, sampler))
    return (*judged, _extra_token(targets[-1], sampler, is_bonus=bool(proposals)))


def _untested(proposal: Proposal) -> JudgedToken:
    """A token behind the refusal: nobody judged it."""
    return JudgedToken(
        token_id=proposal.token_id,
        outcome=TokenOutcome.UNTESTED,
        draft_prob=proposal.distribution.prob(proposal.token_id),
        draft_top=proposal.top,
        source_position=proposal.source_position,
        looked_up_share=proposal.looked_up_share,
    )


def _resample(target: Distribution, refused: Proposal, sampler: Sampler) -> JudgedToken:
    """The token drawn in place of the refused one."""
    rest = residual(target, refused.distribution)
    token_id = sampler.sample(rest)
    return JudgedToken(
        token_id=token_id,
        outcome=TokenOutcome.RESAMPLED,
        target_prob=target.prob(token_id),
        draft_prob=refused.distribution.prob(token_id),
        draft_top=refused.top,
        residual_top=alternatives_of(rest),
    )


def _extra_token(target: Distribution, sampler: Sampler, *, is_bonus: bool) -> JudgedToken:
    """The token of the last row: a bonus after a kept draft, a normal token without a draft."""
    token_id = sampler.sample(target)
    return JudgedToken(
        token_id=token_id,
        outcome=TokenOutcome.BONUS if is_bonus else TokenOutcome.NORMAL,
        target_prob=target.prob(token_id),
    )
