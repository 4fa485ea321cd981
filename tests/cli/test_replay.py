"""`replay`, as someone at a terminal meets it."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from specdemo import cli
from specdemo.cli import replay
from specdemo.plain import snapshot_json
from specdemo.session import DecodeRequest
from specdemo.trace_file import TraceFile, dump
from specdemo.ui import serving
from tests.ui.fakes import FakeSession


@pytest.fixture
def path(tmp_path: Path) -> Path:
    *_, last = FakeSession().run(DecodeRequest("Why?"), Event())
    path = tmp_path / "mine.trace.json.gz"
    path.write_bytes(dump(TraceFile(last, "Why?", "2026-12-01T00:00:00+00:00")))
    return path


def test_json_has_the_numbers_of_the_recorded_run(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["replay", str(path), "--json"]) == 0
    expected = json.dumps(snapshot_json(replay.read(path).snapshot), ensure_ascii=False)
    assert capsys.readouterr().out == expected + "\n"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "cannot be read: No such file"),
        (b"{}", "no trace that can be replayed"),
        (b"\x1f\x8bnothing", "gzip file is damaged"),
    ],
)
@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_bad_file_is_one_sentence_and_exit_code_2(
    data: bytes | None,
    sentence: str,
    extra: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "bad.json"
    if data is not None:
        path.write_bytes(data)
    code = cli.main(["replay", str(path), *extra])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_the_page_opens_with_the_file_before_the_bundled_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(serving, "launch", lambda page, _, **more: launched.append((page, more)))
    assert cli.main(["replay", str(path)]) == 0
    ((page, options),) = launched
    (view,) = (b for b in page.blocks.values() if b.elem_id == "sd-recordings")
    assert f'"names":["{path.name}","chat"' in view.js_on_load
    assert options["inbrowser"]
