"""The race: two runs of one request on one device, advanced by the clock of the slower one.

Both runs share one device, so running them at once would falsify both. The race advances, one
forward pass at a time, whichever run's own compute clock is behind. Knows no screen, and of models
only the pair that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

from specdemo.errors import InvalidRequestError, PromptTooLongError
from specdemo.models.loading import ModelPair
from specdemo.models.memory import reset_peak
from specdemo.models.tokenization import TokenTexts, prompt_pieces
from specdemo.session.answer import Answer
from specdemo.session.environment import describe
from specdemo.session.lane import Lane, capacity_for
from specdemo.session.request import DecodeRequest
from specdemo.trace import Snapshot, Words

_WARM_UP = DecodeRequest(
    prompt="Write one sentence about the sea.", draft_source="hybrid", max_new_tokens=12
)
_WARM_UPS = (_WARM_UP, replace(_WARM_UP, temperature=0.7, top_p=0.9, repetition_penalty=1.1))


def race(
    pair: ModelPair,
    request: DecodeRequest,
    prompt_token_ids: list[int],
    should_stop: Callable[[], bool],
) -> Generator[Snapshot, None, Snapshot]:
    """Both runs to their end, a snapshot after each pass; returns the last one."""
    texts = TokenTexts(pair.tokenizer)
    words = Words(prompt_pieces(pair.tokenizer, prompt_token_ids), texts.by_token_id)
    lane_of = partial(Lane, pair, request, prompt_token_ids, token_texts=texts)
    normal = lane_of("none", should_stop)
    speculative = lane_of(request.draft_source, should_stop)
    environment = describe(pair)

    def snapshot() -> Snapshot:
        return Snapshot(normal.snapshot, speculative.snapshot, environment, request, words=words)

    try:
        for lane in turns(normal, speculative, request.order):
            lane.step()
            yield snapshot()
        return snapshot()
    finally:
        normal.close()
        speculative.close()


def answers(
    pair: ModelPair, request: DecodeRequest, draft_source: str, should_stop: Callable[[], bool]
) -> Iterator[Answer]:
    """One run to its end, a snapshot after each pass; the peak counts from its start."""
    reset_peak(pair.spec.device)
    environment = describe(pair)
    lane = Lane(pair, request, encode_prompt(pair, request), draft_source, should_stop)
    try:
        while not lane.is_finished:
            lane.step()
            yield Answer(lane.snapshot, environment)
    finally:
        lane.close()


def turns(normal: Lane, speculative: Lane, order: str) -> Iterator[Lane]:
    """Which lane takes the next step, until both have ended."""
    while lanes := [lane for lane in (normal, speculative) if not lane.is_finished]:
        yield (
            lanes[0]
            if order == "one_after_another"
            else min(lanes, key=lambda lane: lane.trace.seconds)
        )


def run_through(stages: Generator[str, None, ModelPair]) -> ModelPair:
    """A loading to its end, without telling its stages."""
    while True:
        try:
            next(stages)
        except StopIteration as finished:
            pair: ModelPair = finished.value
            return pair


def encode_prompt(pair: ModelPair, request: DecodeRequest) -> list[int]:
    """The prompt's token ids; raises `PromptTooLongError` if the answer would not fit."""
    if request.is_chat and pair.tokenizer.has_chat_template:
        token_ids = pair.tokenizer.encode_chat(request.messages)
    else:
        token_ids = pair.tokenizer.encode(request.prompt)
    if any(token_id >= pair.vocab_size for token_id in token_ids):
        raise InvalidRequestError(
            "The prompt holds a special token that this pair's two models do not share; leave it "
            "out."
        )
    surplus = capacity_for(request, token_ids) - pair.context_length
    if surplus > 0:
        raise PromptTooLongError(
            f"The prompt has {len(token_ids):,} tokens; with {request.max_new_tokens:,} new ones "
            f"that is {surplus:,} more than the context window of {pair.context_length:,} holds. "
            "Shorten the prompt or ask for fewer new tokens."
        )
    return token_ids


def warm_up(pair: ModelPair) -> None:
    """Run both lanes briefly, greedy and sampling: no measured run pays a first-time cost."""
    for warm_up_request in _WARM_UPS:
        source = "hybrid" if pair.new_draft_runner else "ngram"
        request = replace(warm_up_request, draft_source=source)
        for _ in race(pair, request, encode_prompt(pair, request), lambda: False):
            pass
