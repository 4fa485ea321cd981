"""Runs on borrowed GPUs (ZeroGPU), where each is a process of its own, forked from this one.

Nothing is shared with it: requests go in, snapshots come out, both pickled. So the models are
placed before the first fork, Stop closes the run and keeps what had come out, and nothing can be
lent. Knows no component, and `spaces` only as the decorator that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Event
from typing import Any, Protocol, TypeVar

from specdemo.errors import InvalidRequestError
from specdemo.events import DecodeFinished, FinishReason
from specdemo.session import Answer, DecodeRequest, DecodeSession, LentModels, ScoredText
from specdemo.trace import LaneSnapshot, Snapshot, Words, advance

_T = TypeVar("_T")
# A first pass on a fresh GPU, with the moving of the weights; then both lanes, generously.
_START_SECONDS = 20.0
_SECONDS_PER_TOKEN = 0.15
_MOST_SECONDS = 120.0
_PLACED = DecodeRequest(prompt="?")


class Gpu(Protocol):
    """`spaces.GPU`: makes a function run in a process that has a GPU."""

    def __call__(
        self, *, duration: Callable[..., float]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The decorator; `duration` tells from a call's arguments how long it may take."""


class ZeroSession:
    """A session whose runs happen elsewhere; it is used as any other."""

    can_pause = False

    def __init__(self, session: DecodeSession, gpu: Gpu) -> None:
        self.loaded = session.place()
        self._session = session
        on_gpu = gpu(duration=seconds_for)
        self._run = on_gpu(self._run_there)
        self._answer = on_gpu(self._answer_there)
        self._write_draft = on_gpu(self._write_draft_there)
        self._score = on_gpu(self._score_there)

    @property
    def busy_with(self) -> str | None:
        """Nothing is done in this process."""
        return None

    def load(
        self,
        pair: str = "smollm2-135m",
        precision: str = "auto",
        device: str = "auto",
        quantize: str = "both",
        double_quantization: bool = False,
    ) -> Iterator[str]:
        """Nothing to do for the placed pair; any other is refused."""
        check_placed(pair, precision)
        yield from ()

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        """A snapshot for each forward pass, made elsewhere; Stop ends them where they are."""
        check_placed(request.pair, request.precision)
        for snapshot in until(stop, self._run(request)):
            yield snapshot
            if stop.is_set():
                lanes = (stopped(snapshot.normal), stopped(snapshot.speculative))
                yield replace(snapshot, normal=lanes[0], speculative=lanes[1])

    def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """One run alone."""
        yield from self._alone(self._answer, request, stop)

    def write_draft(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """The draft model writing the whole answer by itself."""
        yield from self._alone(self._write_draft, request, stop)

    def score(
        self, request: DecodeRequest, answer_token_ids: Sequence[int], stop: Event
    ) -> ScoredText | None:
        """What the target thinks of an answer."""
        check_placed(request.pair, request.precision)
        scored: ScoredText | None = self._score(request, tuple(answer_token_ids))
        return scored

    @contextmanager
    def lent(self, request: DecodeRequest, stop: Event) -> Iterator[LentModels | None]:
        """Models in another process cannot be lent."""
        yield None

    def _alone(
        self, there: Callable[..., Any], request: DecodeRequest, stop: Event
    ) -> Iterator[Answer]:
        check_placed(request.pair, request.precision)
        for answer in until(stop, there(request)):
            yield answer
            if stop.is_set():
                yield replace(answer, lane=stopped(answer.lane))

    # What follows runs in the forked process.

    def _run_there(self, request: DecodeRequest) -> Iterator[Snapshot]:
        for snapshot in self._session.run(request, Event()):
            words = snapshot.words
            yield replace(snapshot, words=Words(words.prompt_pieces, dict(words.by_token_id)))

    def _answer_there(self, request: DecodeRequest) -> Iterator[Answer]:
        yield from self._session.answer(request, Event())

    def _write_draft_there(self, request: DecodeRequest) -> Iterator[Answer]:
        yield from self._session.write_draft(request, Event())

    def _score_there(
        self, request: DecodeRequest, answer_token_ids: tuple[int, ...]
    ) -> ScoredText | None:
        return self._session.score(request, answer_token_ids, Event())


def seconds_for(request: DecodeRequest, *_: object) -> float:
    """How long a call may keep the GPU."""
    return min(_MOST_SECONDS, _START_SECONDS + _SECONDS_PER_TOKEN * 2 * request.max_new_tokens)


def check_placed(pair: str, precision: str) -> None:
    """Raises unless that is the pair that was placed before the first run."""
    if (pair, precision) != (_PLACED.pair, _PLACED.precision):
        raise InvalidRequestError(
            "On borrowed GPUs only the bundled pair in its own precision is there; choose it, or "
            "run a copy of this page on a machine of your own."
        )


def until(stop: Event, there: Generator[_T, None, None]) -> Iterator[_T]:
    """What comes from there, the last of it as soon as told to stop; then that process is ended."""
    with closing(there):
        for value in there:
            yield value
            if stop.is_set():
                return


def stopped(lane: LaneSnapshot) -> LaneSnapshot:
    """The lane as it was when its process was ended."""
    if lane.trace.finish_reason is not None:
        return lane
    return replace(lane, trace=advance(lane.trace, DecodeFinished(FinishReason.STOPPED)))
