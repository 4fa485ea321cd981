"""One answer of a server as a lane: what a local run gives, as far as a client can see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import httpx

from specdemo.errors import ServerError
from specdemo.events import (
    DecodeEvent,
    DecodeFinished,
    DraftsTold,
    FinishReason,
    PrefillFinished,
    RoundVerified,
    ServerSteps,
)
from specdemo.remote.counters import Counters, agree
from specdemo.remote.fates import placed
from specdemo.remote.messages import DONE, NoAnswerError, Part, Told, part_of
from specdemo.remote.reading import Line, Reading
from specdemo.remote.rounds import Arrived, judged_rounds, pieces_of, plain_round
from specdemo.remote.server import Role, Server
from specdemo.trace import Fates, LaneSnapshot, RunSettings, RunTrace, ServerReport, advance


class ServedLane:
    """A run on a server; nothing is sent before it is started."""

    def __init__(
        self, server: Server, settings: RunSettings, should_stop: Callable[[], bool]
    ) -> None:
        self._server, self._settings, self._should_stop = server, settings, should_stop
        self._reading: Reading | None = None
        self._model = ""
        self._before: Counters | None = None
        self._parts: list[Arrived] = []
        self._reason: FinishReason | None = None
        self._told: Told | None = None
        self._last_seconds = 0.0
        self._num_prompt_tokens = 0
        self.snapshot = LaneSnapshot()

    @property
    def trace(self) -> RunTrace:
        """What has happened so far."""
        return self.snapshot.trace

    @property
    def is_finished(self) -> bool:
        """Whether the run has ended."""
        return self.trace.finish_reason is not None

    def start(self) -> None:
        """Send the request; what is asked before it is in no clock."""
        self._model = self._server.model()
        self._before = self._server.counters()
        self._reading = self._server.ask(self._settings, self._model)

    def step(self, patience_seconds: float) -> bool:
        """Take in what arrived, waiting for it a little; tells whether anything changed.

        Raises a `ServerError`; what had arrived stays in the snapshot.
        """
        assert self._reading is not None, "start it first"
        if self._should_stop():
            self.close()
            self._happened(DecodeFinished(FinishReason.STOPPED))
            return True
        line = self._next_line(self._reading, patience_seconds)
        return line is not None and self._taken_in(line)

    def close(self) -> None:
        """End the run wherever it is."""
        if self._reading is not None:
            self._reading.close()

    def _next_line(self, reading: Reading, patience_seconds: float) -> Line | None:
        try:
            return reading.next_line(patience_seconds)
        except EOFError as error:
            raise self._server.failures.broken_off(len(self.trace.output_tokens)) from error
        except httpx.HTTPError as error:
            if self.trace.rounds and not isinstance(error, httpx.TimeoutException):
                num_tokens = len(self.trace.output_tokens)
                raise self._server.failures.broken_off(num_tokens) from error
            raise self._server.failures.unreachable(error) from error

    def _taken_in(self, line: Line) -> bool:
        if line.text.removeprefix("data:").strip() == DONE:
            self._finish()
            return True
        try:
            part = part_of(line.text)
        except NoAnswerError as error:
            raise self._server.failures.no_answer(error) from error
        if part is None:
            return False
        self._reason = part.finish_reason or self._reason
        self._told = part.told or self._told
        self._num_prompt_tokens = part.num_prompt_tokens or self._num_prompt_tokens
        return self._grown(part, line.seconds)

    def _grown(self, part: Part, seconds: float) -> bool:
        """The lane with a part's tokens, their fates not yet told."""
        if not part.token_ids:
            return False
        waited = seconds - self._last_seconds
        self._last_seconds = seconds
        if self.trace.prefill is None:
            # The pass that reads the prompt writes the first token.
            self._happened(PrefillFinished(self._num_prompt_tokens, None, None, None, waited))
            waited = 0.0
        part_with_wait = Arrived(part.token_ids, part.text, waited)
        self._parts.append(part_with_wait)
        finished, pieces = plain_round(len(self.trace.rounds), part_with_wait)
        self._happened(RoundVerified(finished))
        self.snapshot = replace(
            self.snapshot,
            pieces=(*self.snapshot.pieces, pieces),
            text=self.snapshot.text + part.text,
        )
        return True

    def _finish(self) -> None:
        """The answer is whole: every fate that follows from what was told, then the end."""
        if self._reason is None or not self._parts:
            raise self._server.failures.broken_off(len(self.trace.output_tokens))
        self.close()
        told = self._told or Told()
        if self._server.role is Role.NORMAL:
            told = replace(told, steps=ServerSteps((), ()))
        fates = self._judge(told)
        after = self._counters_after()
        report = ServerReport(
            fates=fates,
            first_token_seconds=told.first_token_seconds,
            queue_seconds=told.queue_seconds,
            generation_seconds=told.generation_seconds,
            cache_bytes=after.cache_bytes if after else None,
            counters_agree=agree(self._before, after, told.steps) if told.steps else None,
        )
        self.snapshot = replace(self.snapshot, server=report)
        self._happened(DecodeFinished(self._reason))

    def _counters_after(self) -> Counters | None:
        try:
            return self._server.counters()
        except ServerError:
            return None  # the answer is whole: only the cross-check is missing

    def _judge(self, told: Told) -> Fates:
        """Colour the lane as far as is known; tells how far that is."""
        fates, steps = placed([len(part.token_ids) for part in self._parts], told.steps)
        rounds, pieces = self.trace.rounds, self.snapshot.pieces
        if fates in (Fates.KNOWN, Fates.KEPT):
            texts = self._texts()
            if texts is None:
                fates = Fates.NO_TEXTS
            else:
                found = judged_rounds(self._parts, steps, texts)
                rounds = tuple(finished for finished, _ in found)
                pieces = tuple(piece for _, piece in found)
        if told.steps is not None:
            self._happened(DraftsTold(rounds, told.steps))
            self.snapshot = replace(self.snapshot, pieces=pieces)
        return fates

    def _texts(self) -> list[str] | None:
        """The piece of each token; `None` if the server does not tell them."""
        texts: list[str] = []
        for part in self._parts:
            pieces = pieces_of(part, self._text_of)
            if pieces is None:
                return None
            texts += pieces
        return texts

    def _text_of(self, token_ids: Sequence[int]) -> str | None:
        return self._server.text_of(self._model, tuple(token_ids))

    def _happened(self, event: DecodeEvent) -> None:
        self.snapshot = replace(self.snapshot, trace=advance(self.trace, event))
