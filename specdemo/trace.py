"""Everything that happened in a run, as a value that grows event by event.

Knows no model, no clock and no screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from specdemo.events import (
    DecodeEvent,
    DecodeFinished,
    DraftsTold,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    RoundVerified,
    ServerSteps,
    TokenDrafted,
)

SERVER_PAIR = "vllm"
SERVER_DRAFTS = "server"  # the draft source of whatever a server drafts with


@dataclass(frozen=True, slots=True)
class RunTrace:
    """One run: its prefill, its rounds, the tokens drafted but not yet judged, its end.

    `steps` are what a server counted; it may know of refusals whose round is not known.
    """

    prefill: PrefillFinished | None = None
    rounds: tuple[Round, ...] = ()
    pending: tuple[TokenDrafted, ...] = ()
    finish_reason: FinishReason | None = None
    steps: ServerSteps | None = None

    @property
    def seconds(self) -> float:
        """The run's own compute clock, in seconds."""
        prefill = self.prefill.seconds if self.prefill else 0.0
        return (
            prefill
            + sum(finished.seconds for finished in self.rounds)
            + sum(drafted.seconds for drafted in self.pending)
        )

    @property
    def output_tokens(self) -> tuple[JudgedToken, ...]:
        """The answer's tokens, in order."""
        return tuple(token for finished in self.rounds for token in finished.output_tokens)

    @property
    def token_ids(self) -> tuple[int | None, ...]:
        """The answer's token ids, in order."""
        return tuple(token.token_id for token in self.output_tokens)


def advance(trace: RunTrace, event: DecodeEvent) -> RunTrace:
    """The trace after `event`."""
    match event:
        case PrefillFinished():
            return replace(trace, prefill=event)
        case TokenDrafted():
            return replace(trace, pending=(*trace.pending, event))
        case RoundVerified(round=finished):
            return replace(trace, rounds=(*trace.rounds, finished), pending=())
        case DraftsTold(rounds=rounds, steps=steps):
            return replace(trace, rounds=rounds, steps=steps)
        case DecodeFinished(reason=reason):
            return replace(trace, finish_reason=reason)
        case _:
            assert_never(event)


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Bytes held at one moment of a run.

    Weights and caches are summed over the tensors themselves. `peak_bytes` belongs to the
    whole process or device, since its last reset, and is `None` where it cannot be read.
    """

    seconds: float
    target_weights_bytes: int
    draft_weights_bytes: int
    target_cache_bytes: int
    target_cache_used_bytes: int
    draft_cache_bytes: int
    draft_cache_used_bytes: int
    peak_bytes: int | None = None

    @property
    def total_bytes(self) -> int:
        """Weights and allocated caches of both models."""
        return (
            self.target_weights_bytes
            + self.draft_weights_bytes
            + self.target_cache_bytes
            + self.draft_cache_bytes
        )


class Fates(StrEnum):
    """How much is known of the fates of a server's drafts, and why not more."""

    KNOWN = "known"  # of every draft: where it stood and whether it was kept
    KEPT = "kept"  # steps without a draft are not told, so wholly refused drafts have no place
    NOT_TOLD = "not_told"  # the server does not report them
    NOT_FITTING = "not_fitting"  # what it reports does not fit what it sent
    NO_TEXTS = "no_texts"  # it does not tell the texts of single tokens
    NO_DRAFTS = "no_drafts"  # nothing was drafted


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What a server says of one answer, by its own clock and counters; `None` is not reported.

    `counters_agree` tells whether its counters for all requests moved by what it says of this
    one; it is `None` where they moved for others too, or are not there. `cache_bytes` is what it
    reserved for the caches of all requests.
    """

    fates: Fates
    first_token_seconds: float | None = None
    queue_seconds: float | None = None
    generation_seconds: float | None = None
    cache_bytes: int | None = None
    counters_agree: bool | None = None


@dataclass(frozen=True, slots=True)
class LaneSnapshot:
    """One lane as the page needs it: the trace plus words and memory.

    `pieces[r][i]` is the text of `trace.rounds[r].judged[i]`; a piece is empty when its
    token only begins a character that a later token completes. `pending_pieces` belong to
    `trace.pending`. `text` is the answer so far, without end tokens. `server` is there at the end
    of an answer that a server gave.
    """

    trace: RunTrace = RunTrace()
    pieces: tuple[tuple[str, ...], ...] = ()
    pending_pieces: tuple[str, ...] = ()
    text: str = ""
    memory: tuple[MemorySample, ...] = ()
    server: ServerReport | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """What the run was measured on."""

    device: str
    processor: str
    num_threads: int | None
    precision: str
    pair: str
    versions: tuple[tuple[str, str], ...]
    gpu: str | None = None


@dataclass(frozen=True, slots=True)
class BestNormal:
    """Normal decoding in this machine's fastest precision, measured on the same prompt."""

    precision: str
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One earlier turn of the conversation; `role` is user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What was asked for, enough to ask for it again.

    An empty `system_prompt` leaves the model's own. `top_k` 0 and `top_p` 1 are off,
    temperature 0 is greedy. `num_draft_tokens` is the length of a fixed draft and of the first of a
    heuristic one. `quantize` (both, target, draft) and `double_quantization` matter only in 8bit
    and nf4. With `strict` both lanes compute every token in passes of the same number of rows. The
    pair `SERVER_PAIR` stands for two servers, which choose precision and drafts themselves.
    """

    prompt: str
    is_chat: bool = True
    system_prompt: str = ""
    history: tuple[ChatTurn, ...] = ()
    pair: str = "smollm2-135m"
    precision: str = "auto"
    device: str = "auto"
    draft_source: str = "hybrid"
    num_draft_tokens: int = 4
    draft_length: str = "adaptive"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 42
    max_new_tokens: int = 128
    order: str = "race"
    quantize: str = "both"
    double_quantization: bool = False
    strict: bool = False

    @property
    def is_greedy(self) -> bool:
        """Whether the answer is determined by the prompt."""
        return self.temperature == 0

    @property
    def is_served(self) -> bool:
        """Whether two servers answer, not this machine's engine."""
        return self.pair == SERVER_PAIR


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of tokens beside the answers': of the prompt, and of the alternatives by id."""

    prompt_pieces: tuple[str, ...] = ()
    by_token_id: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Both lanes at one moment of a race, with everything that a page, a file or a report shows."""

    normal: LaneSnapshot
    speculative: LaneSnapshot
    environment: Environment
    settings: RunSettings
    best_normal: BestNormal | None = None
    words: Words = Words()

    @property
    def is_finished(self) -> bool:
        """Whether both lanes have ended."""
        return all(lane.trace.finish_reason for lane in (self.normal, self.speculative))

    @property
    def is_greedy(self) -> bool:
        """Whether both answers are determined by the prompt."""
        return self.settings.is_greedy
