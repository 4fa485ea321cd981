"""The endpoints, asked by real clients over HTTP; the README's examples run as they are written."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.utils import Status

from specdemo import cli
from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.api import Endpoints
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import ANSWER, FakeSession

ROOT = Path(__file__).parent.parent.parent
SECTION = (ROOT / "README.md").read_text(encoding="utf-8").split("## For other programs", 1)[1]


def serve(session: Any) -> Iterator[str]:
    page = build_page(session)
    _, address, _ = launch(page, read_settings({}), prevent_thread_lock=True, quiet=True)
    yield str(address).rstrip("/")
    page.close(verbose=False)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from serve(FakeSession())


@pytest.fixture(scope="module")
def client(address: str) -> Client:
    return Client(address, verbose=False)


def example(language: str, address: str, number: int = 0) -> str:
    """The README's example of that number in a language, at another address."""
    found = re.findall(rf"```{language}\n(.*?)```", SECTION, re.DOTALL)
    return str(found[number]).replace("http://127.0.0.1:7860", address)


def ran(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def completed(stream: str) -> Any:
    """The result in the answer to the second curl."""
    lines = stream.splitlines()
    return json.loads(lines[lines.index("event: complete") + 1].removeprefix("data: "))[0]


def test_the_endpoints_are_these_four_and_the_pages_handlers_stay_private(client: Client) -> None:
    info = client.view_api(return_format="dict", print_info=False)
    assert set(info["named_endpoints"]) == {"/decode", "/decode_stream", "/bench", "/models"}
    assert not info["unnamed_endpoints"]
    types = {p["parameter_name"]: p["type"]["type"]
             for p in info["named_endpoints"]["/decode"]["parameters"]}  # fmt: skip
    assert (types["prompt"], types["seed"], types["completion"]) == (
        "string", "integer", "boolean",
    )  # fmt: skip


def test_deltas_add_up_to_the_answer_emoji_and_all(client: Client) -> None:
    deltas = list(client.submit(prompt="hi", max_new_tokens=500, api_name="/decode_stream"))
    assert "".join(delta["text"] for delta in deltas) == ANSWER
    assert len(deltas) > 10
    whole = client.predict(prompt="hi", max_new_tokens=500, api_name="/decode")
    streamed = [i for delta in deltas for i in delta["token_ids"]]
    assert streamed == whole["speculative"]["token_ids"]
    assert deltas[-1]["metrics"]["num_output_tokens"] == len(streamed)


def test_the_readmes_python_example_runs(address: str) -> None:
    out = ran(sys.executable, "-c", example("python", address))
    assert "[10, 11, 12" in out
    assert "The sky looks blue" in out


def test_the_readmes_curl_example_gets_the_same_as_the_client(address: str, client: Client) -> None:
    result = completed(ran("bash", "-c", example("bash", address)))
    expected = client.predict(prompt="What is rain?", max_new_tokens=24, seed=1, api_name="/decode")
    assert result == expected


def test_the_readmes_mcp_example_runs_on_a_page_that_is_started_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, value = example("bash", "", 1).split()[0].split("=")
    monkeypatch.setenv(name, value)
    served = serve(FakeSession())
    out = ran(sys.executable, "-c", example("python", next(served), 1))
    served.close()  # type: ignore[attr-defined]
    assert "['decode', 'decode_stream', 'bench', 'models']" in out
    assert "The sky looks blue" in out


class Boundless(FakeSession):
    """A session whose times are not finite."""

    def run(self, request: Any, stop: Any) -> Iterator[Any]:
        *_, last = super().run(request, stop)
        prefill = replace(last.normal.trace.prefill, target_seconds=math.inf)
        trace = replace(last.normal.trace, prefill=prefill)
        yield replace(last, normal=replace(last.normal, trace=trace))

    def answer(self, request: Any, stop: Any) -> Iterator[Any]:
        *_, last = super().answer(request, stop)
        prefill = replace(last.lane.trace.prefill, target_seconds=math.nan)
        yield replace(
            last, lane=replace(last.lane, trace=replace(last.lane.trace, prefill=prefill))
        )


def test_numbers_that_json_cannot_hold_are_null_in_every_endpoint() -> None:
    endpoints = Endpoints(Boundless())
    (*_, delta), (*_, rows) = endpoints.decode_stream("hi"), endpoints.bench(prompts=["a"])
    result = endpoints.decode("hi")
    for value in (result, delta, rows):
        json.dumps(value, allow_nan=False)
    assert result["normal"]["seconds"] is None
    assert delta["seconds"] is None
    assert rows["rows"][0]["metrics"]["seconds"] is None


def test_a_benchmark_tells_its_progress_and_ends_with_rows(client: Client) -> None:
    updates = list(client.submit(prompts=["a", "b"], max_new_tokens=8, api_name="/bench"))
    assert [u["num_runs"] for u in updates if not u.get("stage")] == [0, 1, 2, 3, 4, 4]
    last = updates[-1]
    assert len(last["rows"]) == 4
    assert last["summary"]["methods"][1]["speedup"]["median"] > 0


@pytest.mark.parametrize(
    ("endpoint", "given", "sentence"),
    [
        ("/decode", {"prompt": " "}, "The prompt is empty"),
        ("/decode", {"prompt": 5}, "prompt: Input should be a valid string"),
        ("/decode", {"prompt": "a", "seed": "x"}, "seed: Input should be a valid integer"),
        ("/decode", {"prompt": "a", "temperature": [1]}, "temperature: Input should be a valid"),
        ("/decode", {"prompt": "a", "completion": "x"}, "valid boolean"),
        ("/decode_stream", {"prompt": "a", "pair": "nobody"}, "choose smollm2-135m"),
        ("/bench", {"suite": "/etc/passwd"}, "choose tutorial, spec-bench"),
        ("/bench", {"prompts": [1]}, "0: Input should be a valid string"),
        ("/bench", {"prompts": ["a", " "]}, "Prompt 2 holds an empty prompt"),
        ("/bench", {"repeats": 0}, "repeats must lie between 1 and 100"),
        ("/bench", {"draft_lengths": ["x"]}, "draft length 'x' is unknown"),
    ],
)
def test_whatever_comes_in_is_checked_and_answered_in_a_sentence(
    client: Client, endpoint: str, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Exception, match=re.escape(sentence)):
        client.predict(**given, api_name=endpoint)


def test_ten_clients_at_once_are_queued_and_all_answered_in_order(address: str) -> None:
    session = Noting()
    served = serve(session)
    queue_address = next(served)
    clients = [Client(queue_address, verbose=False) for _ in range(10)]
    jobs = []
    for i, asker in enumerate(clients):
        jobs.append(asker.submit(prompt=f"echo {i}", max_new_tokens=8, api_name="/decode"))
        wait_until_queued(jobs[-1])
    session.may_run.set()
    answers = [job.result(timeout=120)["normal"]["text"] for job in jobs]
    served.close()  # type: ignore[attr-defined]
    assert answers == [f"echo {i}" for i in range(10)]
    assert session.most_at_once == 1
    assert session.order == [f"echo {i}" for i in range(10)]


def wait_until_queued(job: Any) -> None:
    """Until the server has told the job its place, or that it runs."""
    known = (Status.IN_QUEUE, Status.PROCESSING)
    deadline = time.monotonic() + 60
    while job.status().code not in known:
        assert time.monotonic() < deadline


class Noting(FakeSession):
    """A session that waits until all have asked, and notes who ran when."""

    def __init__(self) -> None:
        super().__init__()
        self.may_run = threading.Event()
        self.order: list[str] = []
        self.most_at_once = 0

    def run(self, request: Any, stop: Any) -> Iterator[Any]:
        assert self.may_run.wait(60)
        self.order.append(request.prompt)
        for snapshot in super().run(request, stop):
            self.most_at_once = max(self.most_at_once, self.num_open_runs)
            yield snapshot


@pytest.mark.slow
def test_a_client_and_curl_get_the_tokens_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"prompt": "What is rain?", "max_new_tokens": 24, "seed": 1}
    assert cli.main(["run", "--prompt", "What is rain?", "--max-new-tokens", "24", "--seed", "1",
                     "--temperature", "0.8", "--draft-length", "fixed", "--json"]) == 0  # fmt: skip
    expected = json.loads(capsys.readouterr().out)
    served = serve(DecodeSession(read_settings()))
    address = next(served)
    sampled = {**given, "temperature": 0.8, "draft_length": "fixed"}
    asked = Client(address, verbose=False).predict(**sampled, api_name="/decode")
    by_curl = completed(
        ran("bash", "-c", example("bash", address).replace(json.dumps(given), json.dumps(sampled)))
    )
    served.close()  # type: ignore[attr-defined]
    for lane in ("normal", "speculative"):
        assert asked[lane]["token_ids"] == expected[lane]["token_ids"]
        assert by_curl[lane]["token_ids"] == expected[lane]["token_ids"]
