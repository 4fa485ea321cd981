"""The session: which pair is loaded, whose turn it is on the device, and what is run there.

Knows no screen; how the two runs of a race take turns is in `race.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event

from specdemo.errors import NotEnoughMemoryError
from specdemo.metrics import run_metrics
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import LoadedSpec, ModelPair, load_pair, resolve_precision
from specdemo.models.memory import reset_peak
from specdemo.models.store import ModelStore
from specdemo.session.answer import Answer
from specdemo.session.environment import describe
from specdemo.session.exhausted import memory_errors
from specdemo.session.lane import Lane
from specdemo.session.lent import LentModels, lend
from specdemo.session.race import answers, encode_prompt, race, run_through, warm_up
from specdemo.session.request import DecodeRequest
from specdemo.session.scored import ScoredText, draft_alone, score_answer
from specdemo.session.servers import check_servers, served_answers, served_race
from specdemo.session.specs import check_allowed, loaded_spec, spec_of
from specdemo.settings import Settings
from specdemo.trace import SERVER_PAIR, BestNormal, Snapshot


class DecodeSession:
    """Loads pairs and runs requests, one at a time; the page and the command line each hold one."""

    can_pause = True  # a run that is asked for no pass makes none

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = ModelStore(settings.cache_folder, settings.num_threads)
        self._warm: LoadedSpec | None = None

    @property
    def loaded(self) -> str | None:
        """The pair that is loaded and warm, and its precision."""
        warm = self._warm  # once: another thread may be loading
        return warm.name if warm else None

    @property
    def busy_with(self) -> str | None:
        """The title of the pair that somebody loads or runs now."""
        return self._store.busy_with

    def load(
        self,
        pair: str = "smollm2-135m",
        precision: str = "auto",
        device: str = "auto",
        quantize: str = "both",
        double_quantization: bool = False,
    ) -> Iterator[str]:
        """Load a pair and warm it up; one sentence for each stage that takes time."""
        if pair == SERVER_PAIR:
            yield from check_servers(self._settings.servers)
            return
        check_allowed(pair, self._settings)
        spec = loaded_spec(pair, precision, device, quantize, double_quantization)
        with self._device(lambda: False):
            yield from self._ready(spec)

    def place(self) -> str:
        """Load the bundled pair and run nothing: its name, for a process that forks its runs."""
        spec = loaded_spec(SMOLLM2_135M.name, "auto", "auto")
        with self._device(lambda: False):
            return run_through(self._store.load(spec)).spec.name

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        """A snapshot for each forward pass; the last one has both lanes finished.

        `stop` is read between passes and leaves correct partial runs; closing the generator gives
        the device up. Raises a `SpecdemoError` with one whole sentence.
        """
        if request.is_served:
            yield from served_race(self._settings.servers, request, stop)
            return
        check_allowed(request.pair, self._settings)
        spec = spec_of(request)
        with self._device(stop.is_set) as is_ours:
            if not is_ours:
                return
            pair = run_through(self._ready(spec))
            prompt_token_ids = encode_prompt(pair, request)
            reset_peak(spec.device)
            final = yield from race(pair, request, prompt_token_ids, stop.is_set)
            # Of other pairs a second copy is too large to load after each race.
            is_other = resolve_precision("auto", spec.device) != spec.precision
            if not stop.is_set() and is_other and spec.pair.is_bundled:
                best = self._best_normal(spec, request, prompt_token_ids, stop.is_set)
                yield replace(final, best_normal=best)

    def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """One run alone, a snapshot for each forward pass; draft source `none` decodes normally."""
        if request.is_served:
            yield from served_answers(self._settings.servers, request, stop)
            return
        with self._held(request, stop) as pair:
            if pair is not None:
                yield from answers(pair, request, request.draft_source, stop.is_set)

    def write_draft(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """The draft model writing the whole answer by itself; the target is never asked."""
        with self._held(request, stop) as pair:
            if pair is not None:
                yield from answers(draft_alone(pair), request, "none", stop.is_set)

    def score(
        self, request: DecodeRequest, answer_token_ids: Sequence[int], stop: Event
    ) -> ScoredText | None:
        """What the target thinks of an answer; `None` if stopped before the device was free."""
        with self._held(request, stop) as pair:
            if pair is None:
                return None
            return score_answer(pair, request, encode_prompt(pair, request), answer_token_ids)

    @contextmanager
    def lent(self, request: DecodeRequest, stop: Event) -> Iterator[LentModels | None]:
        """The request's models and the device; `None` if stopped before it was free."""
        with self._held(request, stop) as pair:
            if pair is None:
                yield None
                return
            prompt_token_ids = encode_prompt(pair, request)
            load_float32 = partial(self._in_float32, pair)
            yield lend(pair, request, prompt_token_ids, describe(pair), load_float32)

    @contextmanager
    def _held(self, request: DecodeRequest, stop: Event) -> Iterator[ModelPair | None]:
        """The request's pair, loaded and warm; `None` if stopped before the device was free."""
        check_allowed(request.pair, self._settings)
        spec = spec_of(request)
        with self._device(stop.is_set) as is_ours:
            yield run_through(self._ready(spec)) if is_ours else None

    @contextmanager
    def _device(self, should_stop: Callable[[], bool]) -> Iterator[bool]:
        is_ours = self._store.acquire(should_stop)
        try:
            with memory_errors():
                yield is_ours
        finally:
            if is_ours:
                self._store.release()

    def _ready(self, spec: LoadedSpec) -> Generator[str, None, ModelPair]:
        if not self._store.holds(spec):
            self._warm = None
        pair = yield from self._store.load(spec)
        if self._warm != spec:
            yield "Warming up…"
            warm_up(pair)
            self._warm = spec
        return pair

    def _best_normal(
        self,
        spec: LoadedSpec,
        request: DecodeRequest,
        prompt_token_ids: list[int],
        should_stop: Callable[[], bool],
    ) -> BestNormal | None:
        """Normal decoding of the same prompt in this machine's fastest precision, really run.

        Its weights are held beside the loaded pair's only while they are measured.
        """
        best = LoadedSpec(spec.pair, spec.device, resolve_precision("auto", spec.device))
        pair = self._beside(best)
        if pair is None:
            return None
        warm_up(pair)
        lane = Lane(pair, request, prompt_token_ids, "none", should_stop)
        while not lane.is_finished:
            lane.step()
        speed = run_metrics(lane.trace).tokens_per_second
        return BestNormal(best.precision, speed) if speed else None

    def _in_float32(self, pair: ModelPair) -> ModelPair | None:
        """The same weights in float32; `None` if they are quantized, or do not fit beside."""
        if pair.spec.precision == "float32":
            return pair
        exact = replace(pair.spec, precision="float32")
        return None if pair.spec.is_quantized else self._beside(exact)

    def _beside(self, spec: LoadedSpec) -> ModelPair | None:
        """A second pair for a moment; `None`, which is not observed, if two do not fit."""
        settings = self._settings
        try:
            return run_through(load_pair(spec, settings.cache_folder, settings.num_threads))
        except NotEnoughMemoryError:
            return None
