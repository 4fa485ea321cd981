"""Many visitors at once on a running app, for minutes: what fails, what is lost, what memory does.

    python benchmarks/soak.py --minutes 10

Starts `app.py` on the bundled pair and sends it 30 visitors who race, ask the API, stop, leave in
the middle, reload, switch the precision and press twice, by chance and by seed. Every finished run
is compared with a run that had the app to itself. Exits with 1 if anything went wrong that was not
meant to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any, NamedTuple

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx
import psutil

from specdemo.ui.form import Form

ROOT = Path(__file__).resolve().parent.parent

PROMPTS = (
    "What is rain?",
    "Name three colours.",
    "Write one sentence about the sea.",
)
PRECISIONS = ("auto", "float32")
NEW_TOKENS = 12
ACTIONS = {"race": 6, "decode": 4, "stop": 3, "leave": 2, "reload": 2, "switch": 1, "twice": 2}
OTHER_PRECISION = 0.03  # switching loads half a gigabyte, for everybody
PATIENCE_SECONDS = 900.0
SETTLING_SHARE = 0.3  # of the time, in which caches fill and every precision is loaded once
NUM_LOWS = 8
FEWEST_SAMPLES = 8
MOST_MB_PER_MINUTE = 8.0
_OVER = ("process_completed", "close_stream", "unexpected_error")

Answers = dict[tuple[str, str], tuple[str, list[int]]]


class Sample(NamedTuple):
    """What the app held, and which models it had ready, at a moment of the run."""

    seconds: float
    megabytes: float
    models: str | None


@dataclass
class Told:
    """What happened, and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[Sample] = field(default_factory=list)

    def lows(self) -> dict[str, list[Sample]]:
        """The least of each stretch of time after the app has settled, by what was loaded.

        What a run holds for a while comes and goes, and another precision has another floor; a
        leak lifts the floors. Samples beside a change of models tell of neither.
        """
        most = self.memory[-1].seconds
        first, width = SETTLING_SHARE * most, (1 - SETTLING_SHARE) * most / NUM_LOWS
        stretches: dict[tuple[str, int], list[Sample]] = {}
        for before, sample, after in zip(self.memory, self.memory[1:], self.memory[2:]):
            is_steady = before.models == sample.models == after.models
            if sample.seconds >= first and is_steady and sample.models is not None:
                place = sample.models, int((sample.seconds - first) / width)
                stretches.setdefault(place, []).append(sample)
        lows: dict[str, list[Sample]] = {}
        for (models, _), samples in sorted(stretches.items()):
            if len(samples) < FEWEST_SAMPLES:
                continue  # they may all lie in one run
            lows.setdefault(models, []).append(min(samples, key=lambda sample: sample.megabytes))
        return lows

    def slope(self) -> float | None:
        """Megabytes a minute by which the floors rise: one slope, a level for each of them.

        `None` where no floor was seen in two stretches.
        """
        seconds, megabytes = [], []
        for floor in self.lows().values():
            mean_seconds = fmean(sample.seconds for sample in floor)
            mean_megabytes = fmean(sample.megabytes for sample in floor)
            seconds += [sample.seconds - mean_seconds for sample in floor]
            megabytes += [sample.megabytes - mean_megabytes for sample in floor]
        return 60 * linear_regression(seconds, megabytes).slope if any(seconds) else None


class Visit:
    """One open page: a session, its heartbeat, its handlers."""

    def __init__(self, client: httpx.AsyncClient, config: dict[str, Any], name: str) -> None:
        self.session = name
        self._client = client
        self._handlers = {h["api_name"]: h for h in config["dependencies"]}
        self._components = {c["id"]: c["props"] for c in config["components"]}

    async def beat(self) -> None:
        """What an open tab does; ended when the tab is closed."""
        async with self._client.stream("GET", f"/gradio_api/heartbeat/{self.session}") as beats:
            async for _ in beats.aiter_lines():
                pass

    async def ask(self, name: str, changes: dict[int, Any] | None = None) -> httpx.Response:
        """Press something, with other values in some places than the page shows at first."""
        handler = self._handlers[name]
        values = [self._components[component].get("value") for component in handler["inputs"]]
        for place, value in (changes or {}).items():
            values[place] = value
        message = {
            "data": values, "fn_index": handler["id"], "session_hash": self.session,
            "event_data": None, "trigger_id": None,
        }  # fmt: skip
        path = "queue/join" if handler["queue"] is not False else f"run/{name}"
        return await self._client.post(f"/gradio_api/{path}", json=message)

    async def told(self) -> AsyncIterator[dict[str, Any]]:
        """The messages of what was asked, until it is over."""
        given = {"session_hash": self.session}
        async with self._client.stream("GET", "/gradio_api/queue/data", params=given) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    message = json.loads(line.removeprefix("data: "))
                    yield message
                    if message["msg"] in _OVER:
                        return


class Visitor:
    """Does one thing after another until the time is over."""

    def __init__(
        self, client: httpx.AsyncClient, config: dict[str, Any], number: int, seed: int
    ) -> None:
        self._client = client
        self._config = config
        self._number = number
        self._num_visits = 0
        self._chance = random.Random(f"{seed}-{number}")

    async def stay(self, until: float, reference: Answers, told: Told) -> None:
        """Act until then; what goes wrong is told and ends nothing."""
        while time.monotonic() < until:
            (action,) = self._chance.choices(list(ACTIONS), list(ACTIONS.values()))
            prompt = self._chance.choice(PROMPTS)
            precision = PRECISIONS[self._chance.random() < OTHER_PRECISION]
            try:
                async with asyncio.timeout(PATIENCE_SECONDS), self.visit() as visit:
                    outcome = await getattr(self, action)(visit, prompt, precision, reference)
                told.counts[outcome] += 1
            except TimeoutError:
                told.wrong.append(f"{action}: nothing was told any more, the run is lost")
            except (AssertionError, httpx.HTTPError, KeyError, ValueError) as error:
                told.wrong.append(f"{action}: {type(error).__name__} {error}"[:400])
            await asyncio.sleep(self._chance.random())

    @asynccontextmanager
    async def visit(self) -> AsyncIterator[Visit]:
        """A page that is open for one action, and closed as tabs are: without a word."""
        self._num_visits += 1
        visit = Visit(self._client, self._config, f"soak-{self._number}-{self._num_visits}")
        beats = asyncio.create_task(visit.beat())
        try:
            yield visit
        finally:
            beats.cancel()
            with suppress(asyncio.CancelledError):
                await beats

    async def race(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        await joined(visit, prompt, precision)
        status, lanes = await ended(visit)
        assert status.startswith("status_finished"), status
        text, _ = reference[prompt, precision]
        assert lanes == {"normal": text, "speculative": text}, f"other text: {lanes}"
        return "races finished"

    async def decode(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        answer = await decoded(self._client, prompt, precision)
        _, token_ids = reference[prompt, precision]
        lanes = [answer[lane]["token_ids"] for lane in ("normal", "speculative")]
        assert lanes == [token_ids, token_ids], f"other tokens: {lanes}"
        return "API calls finished"

    async def stop(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        await joined(visit, prompt, precision)
        num_told = self._chance.randrange(1, 12)
        status, lanes = "", {}
        async for message in visit.told():
            num_told -= message["msg"] == "process_generating"
            if num_told == 0:
                assert (await visit.ask("stop")).status_code == 200
            status, lanes = read(message) or (status, lanes)
        assert status.startswith(("status_finished", "status_stopped")), status
        text, _ = reference[prompt, precision]
        assert all(text.startswith(lane) for lane in lanes.values()), f"other text: {lanes}"
        return "races stopped" if status == "status_stopped" else "races finished"

    async def leave(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        await joined(visit, prompt, precision)
        num_told = self._chance.randrange(1, 12)
        async for message in visit.told():
            num_told -= message["msg"] in ("process_generating", "estimation")
            if num_told <= 0:
                return "tabs closed in a race"
        return "tabs closed after a race"

    async def reload(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        for path in ("/", "/config", "/theme.css", "/health"):
            assert (await self._client.get(path)).status_code == 200
        for name in ("greet", "first"):
            answer = await visit.ask(name)
            assert answer.status_code == 200, answer.text[:200]
        return "pages loaded"

    async def switch(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        answer = await visit.ask("load", {1: precision})
        assert answer.status_code == 200, answer.text[:200]
        last = {}
        async for message in visit.told():
            last = message
        assert last.get("success"), str(last)[:200]
        return "pairs asked for"

    async def twice(self, visit: Visit, prompt: str, precision: str, reference: Answers) -> str:
        await joined(visit, prompt, precision)
        second = await visit.ask("race", form(prompt, precision))
        assert second.status_code == 429, second.status_code
        status, _ = await ended(visit)
        assert status.startswith("status_finished"), status
        return "second requests refused"


def form(prompt: str, precision: str) -> dict[int, Any]:
    """A race's values; the language and the list of runs stand before the form."""
    fields = {"prompt": prompt, "precision": precision, "max_new_tokens": NEW_TOKENS}
    return {2 + Form._fields.index(name): value for name, value in fields.items()}


async def joined(visit: Visit, prompt: str, precision: str) -> None:
    """A race in the queue; waits where it is full, as the page asks its visitors to."""
    while True:
        answer = await visit.ask("race", form(prompt, precision))
        if answer.status_code == 200:
            return
        assert answer.status_code == 503, answer.text[:200]
        await asyncio.sleep(1.0)


async def ended(visit: Visit) -> tuple[str, dict[str, str]]:
    """How a race ended: the status, and each lane's text."""
    status, lanes = "", {}
    async for message in visit.told():
        status, lanes = read(message) or (status, lanes)
    return status, lanes


def read(message: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Status and texts in a race's last message."""
    if message["msg"] != "process_completed":
        return None
    assert message["success"], str(message["output"])[:200]
    stage, _, _, status, *_ = message["output"]["data"]
    lines = [json.loads(line) for line in stage.splitlines()] if isinstance(stage, str) else []
    said = json.loads(status)
    return said.get("word", said.get("text", "")), {
        line[1]: line[3] for line in lines if line[0] == "end"
    }


async def decoded(client: httpx.AsyncClient, prompt: str, precision: str) -> dict[str, Any]:
    """Both lanes, by the public endpoint."""
    asked = {"prompt": prompt, "precision": precision, "max_new_tokens": NEW_TOKENS}
    begun = await client.post("/gradio_api/call/v2/decode", json=asked)
    if begun.status_code == 503:
        await asyncio.sleep(1.0)
        return await decoded(client, prompt, precision)
    path = f"/gradio_api/call/decode/{begun.json()['event_id']}"
    lines = (await client.get(path)).text.splitlines()
    data = lines[lines.index("event: complete") + 1].removeprefix("data: ")
    return dict(json.loads(data)[0])


async def referenced(client: httpx.AsyncClient) -> Answers:
    """Every answer as it comes when nobody else asks: by normal decoding."""
    answers: Answers = {}
    for precision in reversed(PRECISIONS):
        for prompt in PROMPTS:
            normal = (await decoded(client, prompt, precision))["normal"]
            answers[prompt, precision] = normal["text"], normal["token_ids"]
            print(f"known: {prompt} in {precision}", flush=True)
    return answers


async def watch(
    client: httpx.AsyncClient, process: psutil.Process, told: Told, every_seconds: float
) -> None:
    """Note the memory that the app holds, until cancelled or not answered."""
    started = time.monotonic()
    while True:
        try:
            models = (await client.get("/health")).raise_for_status().json()["models"]
        except httpx.HTTPError as error:
            told.wrong.append(f"health: {type(error).__name__} {error}"[:400])
            return
        size = process.memory_info().rss / 1e6
        told.memory.append(Sample(time.monotonic() - started, size, models))
        await asyncio.sleep(every_seconds)


async def soak(address: str, process: psutil.Process, options: argparse.Namespace) -> Told:
    """All visitors for the given time, and what came of it."""
    told = Told()
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=None, limits=limits) as client:
        config = (await client.get("/config")).json()
        reference = await referenced(client)
        print("every answer is known; the visitors come", flush=True)
        until = time.monotonic() + 60 * options.minutes
        watching = asyncio.create_task(watch(client, process, told, min(2.0, options.minutes)))
        visitors = [Visitor(client, config, n, options.seed) for n in range(options.visitors)]
        await asyncio.gather(*(visitor.stay(until, reference, told) for visitor in visitors))
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        health = (await client.get("/health")).json()
        if health["num_waiting"]:
            told.wrong.append(f"{health['num_waiting']} runs still wait though nobody is there")
    return told


def report(told: Told, options: argparse.Namespace) -> dict[str, Any]:
    """The figures."""
    sizes = [round(sample.megabytes) for sample in told.memory]
    return {
        "visitors": options.visitors,
        "minutes": options.minutes,
        "seed": options.seed,
        "counts": dict(sorted(told.counts.items())),
        "wrong": told.wrong,
        "megabytes_first_last_most": [sizes[0], sizes[-1], max(sizes)],
        "megabytes_lows": {
            models: [(round(low.seconds), round(low.megabytes)) for low in floor]
            for models, floor in told.lows().items()
        },
        "megabytes_per_minute": told.slope(),
    }


def main() -> int:
    """Start the app, let the visitors in, print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and the app with it
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "GRADIO_SERVER_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, str(ROOT / "app.py")]
        app = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        try:
            while app.poll() is None:
                with suppress(httpx.TransportError):
                    httpx.get(f"{address}/health").raise_for_status()
                    break
            told = asyncio.run(soak(address, psutil.Process(app.pid), options))
        finally:
            app.terminate()
            app.wait(60)
        log.seek(0)
        logged = log.read().decode(errors="replace")
    if "Traceback" in logged:
        told.wrong.append("the app's log: " + logged[-2000:])
    figures = report(told, options)
    text = json.dumps(figures, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")
    slope = figures["megabytes_per_minute"]
    is_flat = options.minutes < 5 or (slope is not None and slope <= MOST_MB_PER_MINUTE)
    return 0 if is_flat and not told.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
