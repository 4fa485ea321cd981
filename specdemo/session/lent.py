"""The loaded models, lent to somebody who runs them pass by pass. Knows no proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from specdemo.engine.protocols import ModelRunner
from specdemo.models.loading import ModelPair
from specdemo.models.tokenization import TokenTexts
from specdemo.session.lane import capacity_for, new_draft_runner, new_target_runner
from specdemo.session.request import DecodeRequest
from specdemo.trace import Environment


@dataclass(frozen=True, slots=True)
class LentModels:
    """A request's two models with empty caches, its prompt as ids, and what ends an answer.

    `draft` is `None` where the request drafts without a model. `new_float32_target` computes with
    the target's weights in float32, or is `None` where they are quantized or do not fit beside.
    """

    target: ModelRunner
    draft: ModelRunner | None
    new_float32_target: Callable[[], ModelRunner | None]
    prompt_token_ids: tuple[int, ...]
    end_token_ids: frozenset[int]
    environment: Environment
    texts_of: Callable[[Iterable[int]], Mapping[int, str]]


def lend(
    pair: ModelPair,
    request: DecodeRequest,
    prompt_token_ids: list[int],
    environment: Environment,
    load_float32: Callable[[], ModelPair | None],
) -> LentModels:
    """Fresh runners for a request; raises if it asks for a draft model that the pair lacks."""
    capacity = capacity_for(request, prompt_token_ids)
    texts = TokenTexts(pair.tokenizer)

    def texts_of(token_ids: Iterable[int]) -> Mapping[int, str]:
        for token_id in token_ids:
            texts.note(token_id)
        return texts.by_token_id

    def new_float32_target() -> ModelRunner | None:
        exact = load_float32()
        return None if exact is None else exact.new_target_runner(capacity)

    return LentModels(
        target=new_target_runner(pair, request, capacity),
        draft=new_draft_runner(pair, request.draft_source, capacity),
        new_float32_target=new_float32_target,
        prompt_token_ids=tuple(prompt_token_ids),
        end_token_ids=pair.tokenizer.end_token_ids,
        environment=environment,
        texts_of=texts_of,
    )
