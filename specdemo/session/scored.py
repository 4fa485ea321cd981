"""Scoring: what the target thinks of a text that somebody else wrote. Knows no verdict.

A score is a look back at a finished text. Nothing is refused and nothing is replaced, so unlike
verification it leaves the text the draft's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from specdemo.engine.drafting import Clock
from specdemo.engine.protocols import ModelRunner
from specdemo.errors import BadLogitsError, InvalidRequestError
from specdemo.models.loading import ModelPair
from specdemo.models.tokenization import Pieces, Tokenizer, prompt_pieces
from specdemo.session.request import DecodeRequest

# Rows whose logits lie in memory at once.
_ROWS = 256


class Judgement(NamedTuple):
    """What the target says of one token, given all before it; natural logarithms."""

    log_prob: float
    best_token_id: int
    best_log_prob: float


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """One token of the text with the target's judgement.

    Nothing comes before the first token of the text, so it has no probability.
    """

    token_id: int
    piece: str
    is_answer: bool
    log_prob: float | None = None
    best_token_id: int | None = None
    best_piece: str | None = None
    best_log_prob: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredText:
    """Prompt and answer, tokenized anew as one text and scored in one pass of `score_seconds`.

    `num_changed_ids` counts the ids that prompt and answer were written with and that the joined
    text does not have at the same place. `draft_lacks_features` says that the draft model reads the
    target's hidden states in speculative decoding and had to write without them.
    """

    tokens: tuple[ScoredToken, ...]
    score_seconds: float
    num_changed_ids: int
    draft_lacks_features: bool = False


def draft_alone(pair: ModelPair) -> ModelPair:
    """The pair with the draft model in the target's place.

    A draft that reads the target's hidden states has to write without them.
    """
    if pair.new_draft_runner is None:
        raise InvalidRequestError(
            f"{pair.spec.pair.title} has no draft model that could write; choose another pair."
        )
    return replace(
        pair,
        new_target_runner=pair.new_draft_runner,
        target_weights_bytes=pair.draft_weights_bytes,
    )


def score_answer(
    pair: ModelPair,
    request: DecodeRequest,
    prompt_token_ids: Sequence[int],
    answer_token_ids: Sequence[int],
    clock: Clock = time.perf_counter,
) -> ScoredText:
    """The target's judgement of every token of prompt and answer, as its own tokenizer cuts them.

    The score is the tutorial's: a text is written, decoded, tokenized again and looked at once.
    """
    tokenizer = pair.tokenizer
    answer = [i for i in answer_token_ids if i not in tokenizer.end_token_ids]
    token_ids = retokenized(tokenizer, request, prompt_token_ids, answer)
    started = clock()
    judgements = tuple(judge(pair.new_target_runner(len(token_ids)), token_ids))
    seconds = clock() - started
    written = [*prompt_token_ids, *answer]
    changed = set(places(tokenizer, written)) - set(places(tokenizer, token_ids))
    prompt_length = sum(len(piece) for piece in prompt_pieces(tokenizer, prompt_token_ids))
    tokens = scored_tokens(tokenizer, token_ids, judgements, prompt_length)
    lacks_features = bool(pair.new_draft_runner and pair.new_draft_runner(1).reads_features)
    return ScoredText(tokens, seconds, len(changed), lacks_features)


def retokenized(
    tokenizer: Tokenizer,
    request: DecodeRequest,
    prompt_token_ids: Sequence[int],
    answer: Sequence[int],
) -> list[int]:
    """Token ids of prompt and answer as one text."""
    if request.is_chat and tokenizer.has_chat_template:
        return tokenizer.encode_as_is(
            tokenizer.decode_all(prompt_token_ids) + tokenizer.decode(answer)
        )
    return tokenizer.encode(request.prompt + tokenizer.decode(answer))


@torch.inference_mode()
def judge(runner: ModelRunner, token_ids: Sequence[int]) -> Iterator[Judgement]:
    """The target's judgement of each token but the first, in float32 over the whole vocabulary."""
    for first in range(0, len(token_ids) - 1, _ROWS):
        given = token_ids[first : min(first + _ROWS, len(token_ids) - 1)]
        logits = runner.forward(given, len(given)).logits  # (T, V), row t judges token t + 1
        log_probs = torch.log_softmax(logits.float(), dim=-1)
        judged = torch.tensor(token_ids[first + 1 : first + 1 + len(given)], device=logits.device)
        own = log_probs.gather(-1, judged.unsqueeze(-1)).squeeze(-1)
        best = log_probs.max(dim=-1)
        if not torch.isfinite(best.values).all():
            raise BadLogitsError(
                "The model answered with numbers that are not finite; choose float32 and run again."
            )
        rows = zip(own.tolist(), best.indices.tolist(), best.values.tolist())
        yield from (Judgement(*row) for row in rows)


def places(tokenizer: Tokenizer, token_ids: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each token as where its piece begins, where it ends, and its id; in characters."""
    end = 0
    for token_id, piece in zip(token_ids, prompt_pieces(tokenizer, token_ids)):
        start, end = end, end + len(piece)
        yield start, end, token_id


def scored_tokens(
    tokenizer: Tokenizer,
    token_ids: Sequence[int],
    judgements: Sequence[Judgement],
    prompt_length: int,
) -> tuple[ScoredToken, ...]:
    """Tokens with their words; one that reaches past the prompt belongs to the answer."""
    pieces = Pieces(tokenizer, ())
    tokens: list[ScoredToken] = []
    position = 0
    for token_id, judgement in zip(token_ids, (None, *judgements)):
        best = judgement and pieces.after([judgement.best_token_id])[0]
        piece = pieces.after([token_id])[0]
        pieces.commit([token_id])
        position += len(piece)
        token = ScoredToken(token_id, piece, position > prompt_length)
        if judgement is not None:
            log_prob, best_token_id, best_log_prob = judgement
            token = replace(
                token, log_prob=log_prob, best_token_id=best_token_id,
                best_piece=best, best_log_prob=best_log_prob,
            )  # fmt: skip
        tokens.append(token)
    return tuple(tokens)
