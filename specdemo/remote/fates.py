"""Which token of an answer was drafted, kept or put in a refused one's place. Pure.

A server tells for each verification step that had a draft how much it drafted and kept, and leaves
the other steps out. Which step wrote which tokens follows from the sizes of the parts in which the
answer arrived: each part holds the tokens of one step, or of several if the client was late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from specdemo.events import JudgedToken, ServerSteps, TokenOutcome
from specdemo.trace import Fates


class Step(NamedTuple):
    """The tokens of one step; `drafted` and `accepted` are `None` where that is not known."""

    num_tokens: int
    drafted: int | None = None
    accepted: int | None = None


def placed(sizes: Sequence[int], steps: ServerSteps | None) -> tuple[Fates, tuple[Step, ...]]:
    """The steps that wrote an answer of parts of these sizes, with all that is known of them."""
    plain = tuple(map(Step, sizes))
    if steps is None:
        return Fates.NOT_TOLD, plain
    if not steps.drafted:
        return Fates.NO_DRAFTS, plain
    told = list(zip(steps.drafted, steps.accepted))
    for fates, found in (
        (Fates.KNOWN, _each_drafted(sizes, told)),
        (Fates.KNOWN, _each_in_its_part(sizes, told)),
        (Fates.KEPT, _kept_in_their_parts(sizes, told)),
    ):
        if found:
            return fates, found
    return Fates.NOT_FITTING, plain


def judged_tokens(token_ids: Sequence[int], step: Step) -> tuple[JudgedToken, ...]:
    """A step's tokens with their fates; refused and untested drafts have no id."""
    if not step.drafted or step.accepted is None:
        return tuple(JudgedToken(token_id, TokenOutcome.NORMAL) for token_id in token_ids)
    num_kept = min(step.accepted, len(token_ids))
    kept = [JudgedToken(token_id, TokenOutcome.ACCEPTED) for token_id in token_ids[:num_kept]]
    last = token_ids[num_kept:]
    is_refused = step.accepted < step.drafted and bool(last)
    refused = [JudgedToken(None, TokenOutcome.REJECTED)] * is_refused
    # Behind a refusal, or behind the end of the answer, drafts were never looked at.
    num_untested = step.drafted - num_kept - len(refused)
    untested = [JudgedToken(None, TokenOutcome.UNTESTED)] * num_untested
    outcome = TokenOutcome.RESAMPLED if is_refused else TokenOutcome.BONUS
    return (*kept, *refused, *untested, *(JudgedToken(token_id, outcome) for token_id in last))


Told = list[tuple[int, int]]


def _each_drafted(sizes: Sequence[int], told: Told) -> tuple[Step, ...]:
    """Every step but the prompt's had a draft: the order is the answer's, late parts or not."""
    total, written = sum(sizes), 1 + sum(accepted + 1 for _, accepted in told)
    cut = written - total
    is_late = len(sizes) != len(told) + 1
    if not 0 <= cut <= told[-1][1] or (is_late and cut):
        return ()
    steps = [Step(1), *(Step(accepted + 1, drafted, accepted) for drafted, accepted in told)]
    steps[-1] = steps[-1]._replace(num_tokens=steps[-1].num_tokens - cut)
    ends = set(accumulate(step.num_tokens for step in steps))
    return tuple(steps) if ends.issuperset(accumulate(sizes)) else ()


def _each_in_its_part(sizes: Sequence[int], told: Told) -> tuple[Step, ...]:
    """Each part behind the prompt's is a step, and those of one token were all drafted or none."""
    kept = _kept_in_their_parts(sizes, told)
    num_single = sum(step.drafted is None for step in kept[1:])
    wholly_refused = [(drafted, accepted) for drafted, accepted in told if not accepted]
    if not kept or len(wholly_refused) not in (0, num_single):
        return ()
    refused = iter(wholly_refused)
    refused = iter(wholly_refused)
    return tuple(
        Step(1, *next(refused)) if index and step.drafted is None and wholly_refused else step
        for index, step in enumerate(kept)
    )


def _kept_in_their_parts(sizes: Sequence[int], told: Told) -> tuple[Step, ...]:
    """Each part of several tokens is a step that kept something; nothing if they do not match."""
    fruitful = [(drafted, accepted) for drafted, accepted in told if accepted]
    steps = list(_matched(sizes, fruitful))
    if len(steps) != len(sizes):
        return ()
    extra = len(fruitful) - sum(step.drafted is not None for step in steps)
    # The last step may be cut down to one token by the end of the answer.
    if extra == 1 and told[-1] == fruitful[-1] and steps[-1].drafted is None:
        steps[-1] = Step(sizes[-1], *fruitful[-1])
        extra = 0
    return () if extra else tuple(steps)


def _matched(sizes: Sequence[int], fruitful: Told) -> Iterator[Step]:
    """Parts of several tokens beside steps that kept something, up to the first that differ."""
    waiting = iter(fruitful)
    for index, size in enumerate(sizes):
        if size == 1:
            yield Step(1)
            continue
        if index == 0:
            return  # the prompt's pass writes one token: this part was late
        drafted, accepted = next(waiting, (0, 0))
        is_cut = index == len(sizes) - 1 and size <= accepted
        if size != accepted + 1 and not is_cut:
            return
        yield Step(size, drafted, accepted)
