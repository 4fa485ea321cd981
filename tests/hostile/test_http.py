"""Hostile messages to every endpoint of a running app, the private ones included, by raw HTTP."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from specdemo.settings import ASSETS_FOLDER
from tests.hostile.asking import SECRET, Answer, App, called, fetched, posted
from tests.hostile.inputs import (
    ADDRESSES,
    BODIES,
    EVENTS,
    FILE_NAMES,
    ODD_TEXTS,
    PATHS,
    POSTED_TO,
    SCRIPTS,
    VALUES,
)
from tests.hostile.served import served
from tests.hostile.trace_files import as_message, trace_files


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "work").mkdir()
    failures: list[logging.LogRecord] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = failures.append  # type: ignore[method-assign]
    logging.getLogger("specdemo").addHandler(handler)
    with served(folder / "work") as (address, watch):
        config = httpx.get(f"{address}/config").json()
        app = App(address, watch, config, failures)
        # What a first request looks up once, such as the system's table of media types.
        app.ask([app.message(*app.named("race")), fetched("/"), fetched("/theme.css")])
        watch.is_on = True
        yield app
        watch.is_on = False
    logging.getLogger("specdemo").removeHandler(handler)


def with_prompt(app: App, name: str, prompt: Any) -> tuple[dict[str, Any], list[Any]]:
    """A handler with a prompt of a few new tokens in its fields."""
    handler, values = app.named(name)
    components = {c["id"]: c for c in app.config["components"]}
    kinds = [components[component]["type"] for component in handler["inputs"]]
    values = [16 if value == 128 else value for value in values]
    if "textbox" in kinds:
        values[kinds.index("textbox")] = prompt
    return handler, ["own" if value == "tutorial" else value for value in values]


def test_any_value_in_any_field_of_any_handler_is_refused_or_answered(app: App) -> None:
    asked = [
        app.message(handler, [value] * len(fields))
        for handler, fields in app.handlers()
        for value in VALUES
        if fields
    ]
    for name in ("race", "measure", "load"):
        # Were all else in order, it would run: an empty prompt and a missing file end it at once.
        handler, fields = with_prompt(app, name, "")
        asked += [
            app.message(handler, [*fields[:at], value, *fields[at + 1 :]])
            for at, component in enumerate(handler["inputs"])
            for value in VALUES
            if fields[at] != value and not is_state(app, component)
            # Long, but a prompt like any other.
            if not isinstance(value, str)
        ]
    answers = app.ask(asked)
    assert len(answers) > 1500
    refused = [answer for answer in answers if answer.code != 200]
    assert len(refused) > 0.9 * len(answers)
    assert all(json.loads(answer.text)["detail"].endswith(".") for answer in refused)


def is_state(app: App, component: int) -> bool:
    """Whether the server keeps this value itself."""
    kinds = {c["id"]: c["type"] for c in app.config["components"]}
    return kinds[component] == "state"


def test_whatever_the_page_is_said_to_have_told_leaves_the_server_calm(app: App) -> None:
    asked = [
        app.message(handler, fields, event)
        for handler, fields in app.handlers()
        for event in EVENTS
        if any("_" in (trigger or "") for _, trigger in handler["targets"])
    ]
    assert len(app.ask(asked)) == 150


@pytest.mark.parametrize("texts", [SCRIPTS, ODD_TEXTS, PATHS], ids=["scripts", "odd", "paths"])
def test_a_prompt_is_text_wherever_it_goes(app: App, texts: tuple[str, ...]) -> None:
    raced = texts[::4]
    asked = [app.message(*with_prompt(app, "race", text)) for text in raced]
    asked += [called("decode_stream", text) for text in texts]
    answers = app.ask(asked)
    # A race's values travel as JSON in which nothing can open a tag.
    assert not [a for a in answers[: len(raced)] if a.code == 200 and "<script" in a.text]


def test_no_body_is_too_strange_for_any_address(app: App) -> None:
    answers = app.ask([posted(path, body) for path in POSTED_TO for body in BODIES])
    asked_to_decode = [answer for answer in answers if "decode" in answer.what]
    assert len(asked_to_decode) == 3 * len(BODIES)
    assert all(answer.code in range(400, 500) for answer in asked_to_decode)


def test_no_address_leads_out_of_the_page(app: App) -> None:
    app.ask([fetched(path) for path in ADDRESSES])


def test_what_the_page_does_not_need_is_closed(app: App) -> None:
    closed = [path for path in ADDRESSES if "proxy" in path or "deep" in path or "http" in path]
    answers = app.ask([fetched(path) for path in closed if path.startswith("/gradio_api")])
    assert {answer.code for answer in answers} == {404}


def test_a_body_that_does_not_end_is_cut_off(app: App) -> None:
    large = b'{"data": ["' + b"x" * 13_000_000
    answers = app.ask([posted(path, large) for path in ("/gradio_api/queue/join", "/login")])
    assert [answer.code for answer in answers] == [413, 404]


def test_a_recording_is_data_whatever_it_holds(app: App) -> None:
    files = trace_files((ASSETS_FOLDER / "traces" / "translation.trace.json.gz").read_bytes())
    asked = [
        app.message(*app.named(name), as_message(data))
        for name in ("take", "take_1")
        for data in files.values()
    ]
    answers = app.ask(asked)
    assert [answer for answer in answers if answer.code != 200] == []


def test_an_uploads_name_leads_nowhere(app: App) -> None:
    def uploaded(name: str) -> Callable[[httpx.AsyncClient], Awaitable[Answer]]:
        async def asked(client: httpx.AsyncClient) -> Answer:
            part = f'Content-Disposition: form-data; name="files"; filename="{name}"'
            body = f"--x\r\n{part}\r\n\r\n" + SCRIPTS[0] + "\n\r\n--x--\r\n"
            kind = {"content-type": "multipart/form-data; boundary=x"}
            path = "/gradio_api/upload"
            answer = await client.post(path, content=body.encode(), headers=kind)
            return Answer(name, answer.status_code, answer.text)

        return asked

    answers = app.ask([uploaded(name) for name in FILE_NAMES])
    places = [place for a in answers if a.code == 200 for place in json.loads(a.text)]
    assert places
    work = str(app.watch.work_folder)
    assert all(str(Path(place).resolve()).startswith(work) for place in places)
    # A suite of the visitor's own: an upload, taken for text.
    handler, fields = with_prompt(app, "measure", "")
    file = {"path": places[0], "meta": {"_type": "gradio.FileData"}}
    asked = [
        app.message(handler, [*fields[:2], {**file, "path": path}, *fields[3:]])
        for path in [*places, "/etc/passwd", str(app.watch.work_folder.parent / "secret.txt")]
    ]
    assert [answer.code for answer in app.ask(asked)[-2:]] == [400, 400]


def test_after_all_of_it_a_race_runs_as_ever(app: App) -> None:
    (answer,) = app.ask([app.message(*with_prompt(app, "race", "hello"))])
    assert "status_finished" in answer.text
    assert not Path("/tmp/hostile").exists()
