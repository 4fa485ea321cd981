"""What goes wrong in the middle: a sentence, a free device, and a next run that works."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from specdemo.benchmark.suites import of_prompts
from specdemo.engine.protocols import ForwardOutput
from specdemo.models import store as store_module
from specdemo.models.loading import ModelPair
from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.handlers import Handlers
from specdemo.ui.measuring import BenchmarkForm, MeasuringHandlers
from tests.session.fakes import VOCAB, SizedTable, hold, table_pair
from tests.ui.fakes import FakeSession
from tests.ui.test_handlers import FORM

FORM = FORM._replace(max_new_tokens=12, mode="completion")
PREFILL, MIDDLE = 1, 6  # which pass of a runner fails

OUT_OF_MEMORY = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    "host": RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory"),
    "python": MemoryError(),
}
SURPRISES = {"a surprise": RuntimeError("mat1 and mat2 shapes cannot be multiplied")}


class Failing(SizedTable):
    """A table model whose pass of a given number fails, holding something large as it does."""

    def __init__(self, table: torch.Tensor, fails_at: int, error: Exception | None) -> None:
        super().__init__(table)
        self._fails_at = fails_at
        self._error = error
        self._num_passes = 0

    def forward(self, token_ids: Any, num_logits: int, features: Any = None) -> ForwardOutput:
        self._num_passes += 1
        output = super().forward(token_ids, num_logits)
        if self._num_passes < self._fails_at:
            return output
        if self._error is not None:
            raise self._error
        return ForwardOutput(torch.full_like(output.logits, torch.nan), output.hidden)


class App:
    """The page's handlers on a real session over a pair that can be made to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = DecodeSession(read_settings({}))
        self.handlers = Handlers(self.session)
        self.alive: list[weakref.ref[object]] = []
        self._patch = monkeypatch
        self.give(table_pair())

    def give(self, pair: ModelPair) -> None:
        hold(self.session, pair, self._patch)
        self.session._warm = pair.spec

    def fail(self, fails_at: int, error: Exception | None) -> None:
        def runner(_: int) -> SizedTable:
            made = Failing(torch.zeros(VOCAB, VOCAB), fails_at, error)
            self.alive.append(weakref.ref(made))
            return made

        self.give(table_pair(runner))

    def race(self) -> dict[str, Any]:
        """The status that a race ends with."""
        *_, last = self.handlers.race("visitor", FORM, "en", ())
        assert last.is_running is False
        return dict(json.loads(last.status or ""))

    def assert_the_next_run_works(self) -> None:
        assert self.session.busy_with is None
        assert not self.handlers.visitors.enter("visitor").is_running
        self.give(table_pair())
        assert self.race()["word"].startswith("status_finished")


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    return App(monkeypatch)


@pytest.mark.parametrize("fails_at", [PREFILL, MIDDLE])
@pytest.mark.parametrize("kind", OUT_OF_MEMORY)
def test_memory_that_runs_out_in_a_run_is_one_sentence_and_is_freed(
    app: App, kind: str, fails_at: int
) -> None:
    app.fail(fails_at, OUT_OF_MEMORY[kind])
    told = app.race()
    assert told["kind"] == "error"
    assert told["text"].startswith("Memory ran out")
    assert "choose a lower precision" in told["text"]
    app.assert_the_next_run_works()
    gc.collect()
    assert [runner() for runner in app.alive] == [None, None]


def test_memory_that_runs_out_while_loading_is_one_sentence_and_the_next_load_works(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = table_pair()

    def exhausted(*_: object) -> Generator[str, None, ModelPair]:
        yield "Loading…"
        raise OUT_OF_MEMORY["cuda"]

    def loaded(*_: object) -> Generator[str, None, ModelPair]:
        yield "Loading…"
        return working

    app.session._store._pair = None
    monkeypatch.setattr(store_module, "load_pair", exhausted)
    assert app.race()["text"].startswith("Memory ran out")
    *_, told = app.handlers.load("auto", session_hash="visitor")
    assert json.loads(told)["text"].startswith("Memory ran out")
    assert app.session.loaded is None
    monkeypatch.setattr(store_module, "load_pair", loaded)
    assert app.race()["word"].startswith("status_finished")
    assert app.session.loaded == "smollm2-135m bfloat16"


@pytest.mark.parametrize("fails_at", [PREFILL, MIDDLE])
def test_a_failing_pass_is_told_without_its_details_and_the_next_run_works(
    app: App, fails_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="specdemo")
    app.fail(fails_at, SURPRISES["a surprise"])
    assert app.race()["word"] == "status_unexpected"
    assert "shapes cannot be multiplied" in caplog.text
    assert '"outcome": "RuntimeError"' in caplog.text
    app.assert_the_next_run_works()


@pytest.mark.parametrize("fails_at", [PREFILL + 1, MIDDLE])
def test_logits_that_are_no_numbers_are_one_sentence_and_the_next_run_works(
    app: App, fails_at: int
) -> None:
    app.fail(fails_at, None)
    assert "not finite" in app.race()["text"]
    app.assert_the_next_run_works()


def test_a_hub_that_is_down_is_one_sentence_and_the_next_run_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = DecodeSession(read_settings({}))
    page = Handlers(session)
    form = FORM._replace(models="custom", custom_target="nobody/nothing", custom_draft="")
    *_, last = page.race("visitor", form, "en", ())
    told = json.loads(last.status or "")
    assert "could not be reached for nobody/nothing" in told["text"]
    assert "the bundled pair, which needs none" in told["text"]
    assert session.busy_with is None
    hold(session, table_pair(), monkeypatch)
    *_, last = page.race("visitor", FORM, "en", ())
    assert json.loads(last.status or "")["word"].startswith("status_finished")


def test_a_browser_that_is_gone_at_any_moment_frees_the_device(app: App) -> None:
    is_over, moment = False, 0
    while not is_over:
        race = app.handlers.race("visitor", FORM, "en", ())
        is_over = len(list(islice(race, moment))) < moment
        race.close()  # type: ignore[attr-defined]
        assert app.session._store.acquire(lambda: True), moment
        app.session._store.release()
        moment += 1
    assert moment > 3
    app.assert_the_next_run_works()


@contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
    """No file may grow beyond a size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_is_full_at_an_export_is_one_sentence_and_costs_no_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(
        "specdemo.ui.measuring.named", lambda _: of_prompts(["a", "b"], is_chat=True)
    )
    page = Handlers(FakeSession())
    measuring = MeasuringHandlers(FakeSession(), page.visitors)
    form = BenchmarkForm("tutorial", None, ["auto"], ["hybrid"], ["adaptive"], 0.0, 1.0, 8.0, None)
    with full_disk(2000):
        *_, last = measuring.benchmark("visitor", form, "en")
    told = json.loads(last.status or "")
    assert told["kind"] == "error"
    assert "disk is full" in told["text"]
    assert (last.is_running, last.files) == (False, None)
    assert len(page.visitors.enter("visitor").results.rows) == 4  # type: ignore[union-attr]
    assert list(tmp_path.iterdir()) == []
    *_, last = measuring.benchmark("visitor", form, "en")
    assert last.files is not None


SERVE = """
from specdemo.settings import read_settings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import FakeSession
launch(build_page(FakeSession(pass_seconds=0.02)), read_settings())
"""


def told_by(process: subprocess.Popen[bytes], ask: Callable[[], Any]) -> Any:
    """What a starting server answers as soon as it does."""
    while process.poll() is None:
        try:
            return ask()
        except httpx.TransportError:
            continue
    raise AssertionError(process.communicate()[1].decode())


@pytest.mark.slow
def test_a_termination_during_a_run_ends_the_server_in_order(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {
        **os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_ANALYTICS_ENABLED": "False",
        "TMPDIR": str(tmp_path),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        told_by(process, lambda: client.get("/health").raise_for_status())
        asked = {"prompt": "Answer slowly", "max_new_tokens": 500}
        event = client.post("/gradio_api/call/v2/decode_stream", json=asked).json()["event_id"]
        with client.stream("GET", f"/gradio_api/call/decode_stream/{event}") as stream:
            assert next(stream.iter_lines()) == "event: generating"
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert b"Traceback" not in complaints
    assert list(tmp_path.rglob("*.*")) == []
