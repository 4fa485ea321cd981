"""One run of a race, with the words and the bytes that go with its events."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from specdemo.engine.draft_length import (
    AdaptiveLength,
    ConfidenceLength,
    DraftLength,
    FixedLength,
    HeuristicLength,
)
from specdemo.engine.drafting import HybridDrafter, ModelDrafter, NgramDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import Drafter
from specdemo.engine.sampling import Sampler
from specdemo.errors import InvalidRequestError
from specdemo.events import DecodeEvent, JudgedToken, RoundVerified, TokenDrafted
from specdemo.models.loading import ModelPair, SizedRunner
from specdemo.models.memory import peak_bytes
from specdemo.models.tokenization import Pieces, TokenTexts
from specdemo.session.request import DecodeRequest
from specdemo.session.strict import GridRunner
from specdemo.settings import Limits
from specdemo.trace import LaneSnapshot, MemorySample, RunTrace, advance


class Lane:
    """A run in progress: its events so far, its words, its memory."""

    def __init__(
        self,
        pair: ModelPair,
        request: DecodeRequest,
        prompt_token_ids: list[int],
        draft_source: str,
        should_stop: Callable[[], bool],
        token_texts: TokenTexts | None = None,
    ) -> None:
        capacity = capacity_for(request, prompt_token_ids)
        sampler = Sampler(request.sampling_params, request.seed)
        self._pair = pair
        self._target = new_target_runner(pair, request, capacity)
        self._draft = new_draft_runner(pair, draft_source, capacity)
        self._pieces = Pieces(pair.tokenizer, prompt_token_ids)
        self._token_texts = token_texts or TokenTexts(pair.tokenizer)
        self._events: Generator[DecodeEvent, None, None] = generate(
            self._target,
            new_drafter(draft_source, self._draft, sampler, pair),
            sampler,
            prompt_token_ids,
            draft_length=new_draft_length(request),
            max_new_tokens=request.max_new_tokens,
            end_token_ids=pair.tokenizer.end_token_ids,
            should_stop=should_stop,
        )
        self.snapshot = LaneSnapshot()

    @property
    def trace(self) -> RunTrace:
        """What has happened so far."""
        return self.snapshot.trace

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended."""
        return self.trace.finish_reason is not None

    def step(self) -> None:
        """Run to the next event: one forward pass."""
        event = next(self._events)
        traced = replace(self.snapshot, trace=advance(self.trace, event))
        self.snapshot = self._with_words(traced, event)

    def close(self) -> None:
        """End the run wherever it is."""
        self._events.close()

    def _with_words(self, snapshot: LaneSnapshot, event: DecodeEvent) -> LaneSnapshot:
        match event:
            case TokenDrafted():
                token_ids = [drafted.token_id for drafted in snapshot.trace.pending]
                return replace(snapshot, pending_pieces=self._pieces.after(token_ids))
            case RoundVerified(round=finished):
                for token_id in alternative_ids(finished.judged):
                    self._token_texts.note(token_id)
                return replace(
                    snapshot,
                    pieces=(*snapshot.pieces, self._round_pieces(finished.judged)),
                    pending_pieces=(),
                    text=self._text(snapshot.trace),
                    memory=(*snapshot.memory, self._memory(snapshot.trace.seconds)),
                )
            case _:
                return snapshot

    def _round_pieces(self, judged: tuple[JudgedToken, ...]) -> tuple[str, ...]:
        """The draft as it was proposed, and the answer as it was kept; then the answer grows."""
        output_ids = known_ids(token for token in judged if token.outcome.is_output)
        drafts = iter(self._pieces.after(known_ids(t for t in judged if t.outcome.is_draft)))
        outputs = iter(self._pieces.after(output_ids))
        self._pieces.commit(output_ids)
        pieces = []
        for token in judged:
            draft_piece = next(drafts) if token.outcome.is_draft else ""
            output_piece = next(outputs) if token.outcome.is_output else ""
            pieces.append(output_piece if token.outcome.is_output else draft_piece)
        return tuple(pieces)

    def _text(self, trace: RunTrace) -> str:
        ends = self._pair.tokenizer.end_token_ids
        return self._pair.tokenizer.decode(
            [i for i in known_ids(trace.output_tokens) if i not in ends]
        )

    def _memory(self, seconds: float) -> MemorySample:
        return MemorySample(
            seconds=seconds,
            target_weights_bytes=self._pair.target_weights_bytes,
            draft_weights_bytes=self._pair.draft_weights_bytes if self._draft else 0,
            target_cache_bytes=self._target.cache_bytes,
            target_cache_used_bytes=self._target.cache_used_bytes,
            draft_cache_bytes=self._draft.cache_bytes if self._draft else 0,
            draft_cache_used_bytes=self._draft.cache_used_bytes if self._draft else 0,
            peak_bytes=peak_bytes(self._pair.spec.device),
        )


def capacity_for(request: DecodeRequest, prompt_token_ids: Sequence[int]) -> int:
    """How many positions the caches must hold."""
    return len(prompt_token_ids) + request.max_new_tokens + strict_rows(request)


def strict_rows(request: DecodeRequest) -> int:
    """Rows of every judged pass of a strict run: the longest draft's and one; 0 if it is not."""
    if not request.strict:
        return 0
    is_fixed = request.draft_length == "fixed"
    return 1 + (request.num_draft_tokens if is_fixed else Limits().chosen_draft_tokens)


def new_target_runner(pair: ModelPair, request: DecodeRequest, capacity: int) -> SizedRunner:
    """The target's runner; in a strict run its passes have one shape."""
    runner = pair.new_target_runner(capacity)
    return GridRunner(runner, strict_rows(request)) if request.strict else runner


def new_draft_runner(pair: ModelPair, draft_source: str, capacity: int) -> SizedRunner | None:
    """The draft model's runner, if the source needs one; raises if the pair has none."""
    if draft_source not in ("model", "hybrid"):
        return None
    if pair.new_draft_runner is None:
        raise InvalidRequestError(
            f"{pair.spec.pair.title} has no draft model; choose n-gram lookup as the draft source, "
            "or name a draft of the same family."
        )
    return pair.new_draft_runner(capacity)


def new_drafter(
    source: str, runner: SizedRunner | None, sampler: Sampler, pair: ModelPair
) -> Drafter:
    """The drafter that a draft source stands for."""
    if source == "none":
        return NoDrafter()
    if runner is None:
        return NgramDrafter(pair.vocab_size)
    model = ModelDrafter(runner, sampler)
    if source == "model":
        return model
    ngram = NgramDrafter(pair.vocab_size)
    return HybridDrafter(ngram, model, pair.vocab_size, pair.continuations)


def new_draft_length(request: DecodeRequest) -> DraftLength:
    """The policy that the request asks for, with a memory of its own."""
    maximum = Limits().chosen_draft_tokens
    match request.draft_length:
        case "heuristic":
            return HeuristicLength(min(request.num_draft_tokens, maximum), maximum)
        case "confidence":
            return ConfidenceLength(maximum)
        case "adaptive":
            return AdaptiveLength(maximum)
        case _:
            return FixedLength(request.num_draft_tokens)


def alternative_ids(judged: Iterable[JudgedToken]) -> Iterator[int]:
    """The ids of all alternatives that these tokens carry."""
    for token in judged:
        for top in (token.target_top, token.draft_top, token.residual_top):
            for alternative in top:
                yield alternative.token_id


def known_ids(tokens: Iterable[JudgedToken]) -> list[int]:
    """The ids of tokens that a local engine judged: it knows them all."""
    return [token.token_id for token in tokens if token.token_id is not None]
