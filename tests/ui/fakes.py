"""A session that needs no model: scripted snapshots with every kind of token.

Run as a module, it serves the page on this session: `python -m tests.ui.fakes`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from threading import Event

import torch

from specdemo.engine.protocols import ForwardOutput
from specdemo.errors import InvalidRequestError
from specdemo.events import (
    Alternative,
    DecodeEvent,
    DecodeFinished,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    RoundVerified,
    TokenDrafted,
    TokenOutcome,
)
from specdemo.session import Answer, DecodeRequest, LentModels, ScoredText, ScoredToken
from specdemo.trace import (
    BestNormal,
    Environment,
    LaneSnapshot,
    MemorySample,
    RunTrace,
    Snapshot,
    Words,
    advance,
)
from tests.fakes import TableRunner, random_table

ENVIRONMENT = Environment(
    device="cpu",
    processor="Imaginary Processor 9000 @ 2.0 GHz",
    num_threads=2,
    precision="bfloat16",
    pair="SmolLM2-135M-Instruct + 4-layer draft",
    versions=(("torch", "2.13.0"), ("transformers", "5.24.0"), ("gradio", "6.31.0")),
)

ANSWER = (
    "The sky looks blue because air scatters short waves of sunlight far more than long ones. "
    "Light from the sun holds every colour; on its way through the air the blue part is thrown in "
    "all directions, so it reaches your eye from everywhere.\n\nAt sunset the path is longer:\n"
    "\t- most blue is scattered away,\n\t- red and orange remain 🌅.\n\n"
    "<b>That</b> is why `${evening}` {{skies}} glow, and why 東京 looks the same."
)

A, R, U, S, B, N = (
    TokenOutcome.ACCEPTED,
    TokenOutcome.REJECTED,
    TokenOutcome.UNTESTED,
    TokenOutcome.RESAMPLED,
    TokenOutcome.BONUS,
    TokenOutcome.NORMAL,
)
OTHER_ID = 5
# How many of the drafts each round keeps, over and over.
KEPT = (5, 2, 4, 0, 5, 3, 1, 5, 5, 2)


@dataclass(frozen=True)
class Word:
    """A token and its text."""

    token_id: int
    piece: str


def tokens_of(text: str) -> list[Word]:
    """Crude tokens: words with their leading space; an emoji is two tokens, the first one empty."""
    pieces: list[str] = []
    for character in text:
        if character == "🌅":
            pieces += ["", character]
        elif character in " \n\t-" or not pieces or pieces[-1][-1:] in "\n\t":
            pieces.append(character)
        else:
            pieces[-1] += character
    return [Word(index + 10, piece) for index, piece in enumerate(pieces)]


def judged(word: Word, outcome: TokenOutcome) -> JudgedToken:
    """A token with numbers that fit its fate."""
    numbers = {
        A: (0.62, 0.41, 0.37),
        R: (0.11, 0.58, 0.83),
        U: (None, 0.33, None),
        S: (0.47, 0.02, None),
        B: (0.71, None, None),
        N: (0.66, None, None),
    }[outcome]
    other = Alternative(OTHER_ID, 0.08)
    target_top = (Alternative(word.token_id, numbers[0] or 0.0), other) if numbers[0] else ()
    draft_top = (Alternative(word.token_id, numbers[1]), other) if numbers[1] else ()
    residual_top = (Alternative(word.token_id, 0.9),) if outcome is S else ()
    return JudgedToken(
        word.token_id,
        outcome,
        *numbers,
        target_top=target_top,
        draft_top=draft_top,
        residual_top=residual_top,
    )


# What the lanes write at the seventh place when they are asked to differ: equally likely.
PARTED = (Word(3, " <b>"), Word(4, " blue"))


class WrappedRunner(TableRunner):
    """A table model that takes any token id for one of its own."""

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        return super().forward([token_id % len(self.table) for token_id in token_ids], num_logits)


@dataclass
class FakeSession:
    """Answers `ANSWER`, or the prompt itself when it is asked to echo; slowly when asked to."""

    pass_seconds: float = 0.0
    answer_text: str = ANSWER
    fails_with: Exception | None = None
    num_open_runs: int = 0
    busy_with: str | None = None
    can_pause: bool = True

    def load(
        self,
        pair: str,
        precision: str,
        device: str,
        quantize: str = "both",
        double_quantization: bool = False,
    ) -> Iterator[str]:
        """Two stages."""
        yield "Reading the imaginary weights …"
        self._pass()
        yield "Warming up …"
        self._pass()

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        """Both lanes, whichever clock is behind."""
        if not request.prompt.strip():
            raise InvalidRequestError("Type a prompt first.")
        self.num_open_runs += 1
        try:
            yield from self._race(request, stop)
        finally:
            self.num_open_runs -= 1

    def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """One lane alone."""
        words = tokens_of(self._text(request))[: request.max_new_tokens]
        is_normal = request.draft_source == "none"
        steps = (
            normal_steps(words) if is_normal else speculative_steps(words, request.num_draft_tokens)
        )
        yield from self._alone(steps, stop, has_draft=not is_normal)

    def write_draft(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """A text of the draft's own: the answer with every seventh word replaced."""
        words = tokens_of(self._text(request))[: request.max_new_tokens]
        own = [Word(3, " maybe") if i % 7 == 4 else word for i, word in enumerate(words)]
        yield from self._alone(normal_steps(own), stop, has_draft=True)

    def score(
        self, request: DecodeRequest, answer_token_ids: Sequence[int], stop: Event
    ) -> ScoredText | None:
        """The replaced words are surprising, all others less and less expected."""
        words = tokens_of(self._text(request))
        prompt = tuple(
            ScoredToken(word.token_id, word.piece, False, -2.0 if i else None)
            for i, word in enumerate(tokens_of(request.prompt))
        )
        answer = tuple(
            ScoredToken(3, " maybe", True, -6.1, word.token_id, word.piece, -0.2)
            if token_id == 3
            else ScoredToken(
                token_id, word.piece, True, -0.3 * (i % 9), token_id, word.piece, -0.3 * (i % 9)
            )
            for i, (token_id, word) in enumerate(zip(answer_token_ids, words))
        )
        return ScoredText((*prompt, *answer), 0.21, 2, draft_lacks_features=True)

    def lent(
        self, request: DecodeRequest, stop: Event
    ) -> AbstractContextManager[LentModels | None]:
        """Two table models over twelve words."""
        table = random_table(12, 1)
        names = [
            "The",
            " sky",
            "\n",
            " <b>",
            " blue",
            " is",
            " 東京",
            " a",
            " of",
            " in",
            ".",
            " so",
        ]
        draft = TableRunner(table + random_table(12, 2, spread=0.8))
        if "differ" in request.prompt:
            table[:, [PARTED[0].token_id, PARTED[1].token_id]] = 9.0
        models = LentModels(
            target=WrappedRunner(table),
            draft=draft,
            new_float32_target=lambda: WrappedRunner(table),
            prompt_token_ids=(1, 2),
            end_token_ids=frozenset(),
            environment=ENVIRONMENT,
            texts_of=lambda token_ids: dict(enumerate(names)),
        )
        return nullcontext(models)

    def _text(self, request: DecodeRequest) -> str:
        return request.prompt if "echo" in request.prompt else self.answer_text

    def _alone(
        self, steps: Iterator[tuple[DecodeEvent, tuple[str, ...]]], stop: Event, *, has_draft: bool
    ) -> Iterator[Answer]:
        lane = LaneSnapshot()
        self.num_open_runs += 1
        try:
            while lane.trace.finish_reason is None:
                event, pieces = next(steps)
                if stop.is_set():
                    event, pieces = DecodeFinished(FinishReason.STOPPED), ()
                lane = advanced(lane, event, pieces, has_draft=has_draft)
                self._pass()
                yield Answer(lane, ENVIRONMENT)
        finally:
            self.num_open_runs -= 1

    def _race(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        words = tokens_of(self._text(request))[: request.max_new_tokens]
        texts = {OTHER_ID: " perhaps", 3: " maybe"} | {word.token_id: word.piece for word in words}
        lanes = [LaneSnapshot(), LaneSnapshot()]
        others = words
        if "differ" in request.prompt:
            words, others = ([*words[:6], token, *words[7:]] for token in PARTED)
        steps = [normal_steps(words), speculative_steps(others, request.num_draft_tokens)]
        while any(lane.trace.finish_reason is None for lane in lanes):
            running = [i for i in (0, 1) if lanes[i].trace.finish_reason is None]
            behind = min(running, key=lambda i: lanes[i].trace.seconds)
            event, pieces = next(steps[behind])
            if stop.is_set():
                event, pieces = DecodeFinished(FinishReason.STOPPED), ()
            lanes[behind] = advanced(lanes[behind], event, pieces, has_draft=behind == 1)
            self._pass(20 if "slowly" in request.prompt else 1)
            if self.fails_with and len(lanes[1].trace.rounds) > 3:
                raise self.fails_with
            is_rounded = request.precision in ("8bit", "nf4")
            yield Snapshot(
                *lanes,
                replace(ENVIRONMENT, precision=request.precision) if is_rounded else ENVIRONMENT,
                settings=request,
                best_normal=BestNormal("float32", 27.4) if request.seed == 7 else None,
                words=Words(("Why", " blue", "?"), texts),
            )

    def _pass(self, times: int = 1) -> None:
        if self.pass_seconds:
            time.sleep(self.pass_seconds * times)


def normal_steps(words: list[Word]) -> Iterator[tuple[DecodeEvent, tuple[str, ...]]]:
    """One token per round."""
    yield PrefillFinished(12, 0.09, 0.0, 0.002), ()
    for index, word in enumerate(words):
        seconds = 0.040 + 0.004 * (index % 3)
        yield (
            RoundVerified(Round(index, (judged(word, N),), 0.0, seconds, 0.001)),
            (word.piece,),
        )
    yield DecodeFinished(FinishReason.MAX_NEW_TOKENS), ()


def speculative_steps(
    words: list[Word], num_draft_tokens: int
) -> Iterator[tuple[DecodeEvent, tuple[str, ...]]]:
    """Drafts of which some are kept, by the table `KEPT`."""
    yield PrefillFinished(12, 0.09, 0.02, 0.002), ()
    at = index = 0
    while at < len(words):
        room = min(num_draft_tokens, len(words) - at - 1)
        kept = min(KEPT[index % len(KEPT)], room)
        drafted = [
            words[at + i] if i < kept else Word(3, [" maybe", "\n", " the"][i % 3])
            for i in range(room)
        ]
        for word in drafted:
            yield TokenDrafted(index, word.token_id, 0.4, 0.006), (word.piece,)
        fates = [A] * kept + ([R] + [U] * (room - kept - 1) if kept < room else [])
        likeliest = Alternative(words[at + kept].token_id, 0.47)
        tokens = [
            replace(token, target_top=(likeliest, *token.target_top)) if fate is R else token
            for word, fate in zip(drafted, fates, strict=True)
            for token in [judged(word, fate)]
        ]
        tokens.append(judged(words[at + kept], B if kept == room else S))
        pieces = (*(word.piece for word in drafted), words[at + kept].piece)
        yield RoundVerified(Round(index, tuple(tokens), 0.006 * room, 0.052, 0.001)), pieces
        at, index = at + kept + 1, index + 1
    yield DecodeFinished(FinishReason.MAX_NEW_TOKENS), ()


def advanced(
    lane: LaneSnapshot, event: DecodeEvent, pieces: tuple[str, ...], *, has_draft: bool
) -> LaneSnapshot:
    """The lane after an event, with its words and one more memory sample."""
    trace = advance(lane.trace, event)
    all_pieces, pending = lane.pieces, lane.pending_pieces
    if isinstance(event, TokenDrafted):
        pending = (*pending, *pieces)
    if isinstance(event, RoundVerified):
        all_pieces, pending = (*all_pieces, pieces), ()
    return LaneSnapshot(
        trace=trace,
        pieces=all_pieces,
        pending_pieces=pending,
        text=answer_text(trace, all_pieces),
        memory=(*lane.memory, memory(trace, has_draft=has_draft)),
    )


def answer_text(trace: RunTrace, pieces: tuple[tuple[str, ...], ...]) -> str:
    """The pieces of the output tokens."""
    return "".join(
        piece
        for finished, texts in zip(trace.rounds, pieces, strict=True)
        for token, piece in zip(finished.judged, texts, strict=True)
        if token.outcome.is_output
    )


def memory(trace: RunTrace, *, has_draft: bool) -> MemorySample:
    """Bytes like those of the bundled pair."""
    used = 46_080 * (12 + len(trace.output_tokens))
    return MemorySample(
        seconds=trace.seconds,
        target_weights_bytes=269_060_352,
        draft_weights_bytes=28_400_000 if has_draft else 0,
        target_cache_bytes=11_800_000,
        target_cache_used_bytes=used,
        draft_cache_bytes=1_600_000 if has_draft else 0,
        draft_cache_used_bytes=used // 8 if has_draft else 0,
        peak_bytes=742_000_000,
    )


if __name__ == "__main__":
    from specdemo.settings import read_settings
    from specdemo.ui.serving import launch
    from specdemo.ui.wiring import build_page

    launch(build_page(FakeSession(pass_seconds=0.02)), read_settings())
