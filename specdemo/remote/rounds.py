"""An answer that arrived in parts as rounds, each with the text of its tokens. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specdemo.events import JudgedToken, Round, TokenOutcome
from specdemo.remote.fates import Step, judged_tokens

_REPLACEMENT = "\ufffd"
TextOf = Callable[[Sequence[int]], str | None]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A part of the answer, and how long after the part before it arrived."""

    token_ids: tuple[int, ...]
    text: str
    waited_seconds: float


def plain_round(index: int, part: Arrived) -> tuple[Round, tuple[str, ...]]:
    """A part as a round whose fates are not told, its text at its first token."""
    tokens = tuple(JudgedToken(token_id, TokenOutcome.NORMAL) for token_id in part.token_ids)
    return _round(index, tokens, part.waited_seconds), (part.text, *[""] * (len(tokens) - 1))


def judged_rounds(
    parts: Sequence[Arrived], steps: Sequence[Step], texts: Sequence[str]
) -> list[tuple[Round, tuple[str, ...]]]:
    """Each step as a round; of steps that arrived together the first has the wait for all."""
    token_ids = [token_id for part in parts for token_id in part.token_ids]
    waits = [wait for part in parts for wait in _waits(part)]
    rounds = []
    start = 0
    for index, step in enumerate(steps):
        own = slice(start, start + step.num_tokens)
        judged = judged_tokens(token_ids[own], step)
        outputs = iter(texts[own])
        pieces = tuple(next(outputs) if token.outcome.is_output else "" for token in judged)
        rounds.append((_round(index, judged, sum(waits[own])), pieces))
        start += step.num_tokens
    return rounds


def pieces_of(part: Arrived, text_of: TextOf) -> list[str] | None:
    """What each token of a part adds to its text; `None` if the server does not tell.

    A token that only begins a character has an empty piece. Tokenizers that write the space before
    a word leave it out where a text begins, so white space at the front may be missing.
    """
    ids, text = part.token_ids, part.text
    pieces, shown = [], 0
    for count in range(1, len(ids)):
        told = text_of(ids[:count])
        if told is None:
            return None
        whole = told.rstrip(_REPLACEMENT)
        gap = len(text) - len(text.lstrip()) if not text.startswith(whole) else 0
        end = gap + len(whole) if text.startswith(whole, gap) else shown
        pieces.append(text[shown : max(shown, end)])
        shown = max(shown, end)
    last = text[shown:]
    if not text and len(ids) == 1:
        # Answers come without their end token; a lone one is shown by its name.
        told = text_of(ids)
        last = "" if told is None or _REPLACEMENT in told else told
    return [*pieces, last]


def _waits(part: Arrived) -> list[float]:
    return [part.waited_seconds, *[0.0] * (len(part.token_ids) - 1)]


def _round(index: int, judged: tuple[JudgedToken, ...], waited_seconds: float) -> Round:
    return Round(index, judged, None, None, None, waited_seconds)
