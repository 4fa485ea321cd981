"""What the benchmark's and the draft-and-score's buttons do, without a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdemo.benchmark.results import as_json
from specdemo.ui.measuring import BenchmarkForm, MeasuringHandlers, ScoreForm
from specdemo.ui.visitors import Visitors
from tests.benchmark.plans import finished, plan
from tests.ui.fakes import FakeSession

FORM = BenchmarkForm(
    suite="tutorial", own_file=None, precisions=["auto"], draft_sources=["model"],
    draft_lengths=["adaptive"], temperature=0, repeats=1, max_new_tokens=8, resumed_file=None,
)  # fmt: skip
SCORE = ScoreForm("Why is the sky blue?", "chat", 40, "auto")


def handlers(session: FakeSession | None = None) -> MeasuringHandlers:
    return MeasuringHandlers(session or FakeSession(), Visitors())


def told(value: str | None) -> dict[str, Any]:
    assert value is not None
    shown: dict[str, Any] = json.loads(value)
    return shown


def test_a_benchmark_ends_with_its_view_and_three_files() -> None:
    updates = handlers().benchmark("visitor", FORM, "en")
    first = next(updates)
    assert first.is_running is True
    for update in updates:
        if update.files is not None:
            contents = {Path(path).suffix: Path(path).read_text() for path in update.files}
            last = update
    assert last.is_running is False
    assert told(last.status)["text"] == "Finished: 10 runs."
    assert len(told(last.view)["charts"]) == 4
    assert len(json.loads(contents[".json"])["rows"]) == 10
    assert contents[".csv"].count("\n") == 11
    assert "<title>Benchmark: tutorial</title>" in contents[".html"]


def test_stop_keeps_the_finished_rows_and_offers_them() -> None:
    page = handlers()
    for update in page.benchmark("visitor", FORM, "en"):
        if "about" in (update.status or "") and "3 of 10" in (update.status or ""):
            page._visitors.enter("visitor").stop.set()
        if update.files is not None:
            rows = json.loads(Path(update.files[0]).read_text())["rows"]
    assert len(rows) == 3
    assert "Stopped after 3 of 10" in told(update.status)["text"]


def test_a_saved_file_is_continued(tmp_path: Path) -> None:
    whole = as_json(finished(plan()))
    part = tmp_path / "part.json"
    part.write_text(json.dumps({**whole, "rows": whole["rows"][:5]}))
    form = FORM._replace(resumed_file=str(part))
    for update in handlers().benchmark("visitor", form, "en"):
        if update.files is not None:
            rows = json.loads(Path(update.files[0]).read_text())["rows"]
    assert rows == json.loads(json.dumps(whole["rows"]))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"suite": "own"}, "Choose a file with prompts first."),
        ({"suite": "/etc/passwd"}, "choose tutorial, spec-bench"),
        ({"draft_sources": []}, "at least one of the draft sources"),
        ({"repeats": None}, "repeats must lie between"),
        ({"resumed_file": "/nowhere.json"}, "cannot be read"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    *_, last = handlers().benchmark("visitor", FORM._replace(**changes), "en")
    assert sentence in told(last.status)["text"]
    assert last.is_running is False


def test_a_failure_in_the_middle_still_offers_what_was_measured() -> None:
    class Failing(FakeSession):
        num_left = 4

        def answer(self, *given: Any) -> Any:
            self.num_left -= 1
            if self.num_left < 0:
                raise RuntimeError("surprise")
            return super().answer(*given)

    for update in handlers(Failing()).benchmark("visitor", FORM, "en"):
        if update.files is not None:
            rows = json.loads(Path(update.files[0]).read_text())["rows"]
    assert len(rows) == 4
    assert told(update.status)["word"] == "status_unexpected"


def test_draft_and_score_ends_with_three_answers_and_where_they_part() -> None:
    *_, last = handlers().score("visitor", SCORE, "en")
    view = told(last.view)
    assert view["speculative"]["text"] == view["normal"]["text"] != view["draft"]["text"]
    assert [token["is_first"] for token in view["tokens"]].index(True) == 4
    assert sum(token["is_first"] for token in view["tokens"]) == 1
    assert "from answer token 5 on" in told(last.status)["text"]
    assert view["lacks_features"] is True


def test_draft_and_score_of_an_empty_prompt_is_a_sentence() -> None:
    *_, last = handlers().score("visitor", SCORE._replace(prompt=" "), "en")
    assert "The prompt is empty" in told(last.status)["text"]
    assert last.is_running is False


def test_stop_and_score_leaves_what_was_written() -> None:
    page = handlers()
    updates = page.score("visitor", SCORE, "en")
    next(updates)
    page._visitors.enter("visitor").stop.set()
    *_, update = updates
    assert told(update.view)["score"] is None
    assert told(update.status)["word"] == "status_stopped"


def test_every_view_can_be_had_in_another_language() -> None:
    page = handlers()
    assert page.views("new", "it") == ("", "", "")
    list(page.benchmark("visitor", FORM, "en"))
    benchmark, *_ = page.views("visitor", "it")
    assert told(benchmark)["charts"][3]["title"] == "Memoria occupata"


def test_a_benchmark_too_long_for_a_shared_device_is_stopped_and_keeps_its_rows() -> None:
    ticks = iter(range(10_000))
    page = MeasuringHandlers(FakeSession(), Visitors(), 10.0, lambda: next(ticks))
    *_, last = page.benchmark("visitor", FORM, "en")
    assert last.is_running is False
    results = page._visitors.enter("visitor").results
    assert results is not None
    assert 0 < len(results.rows) < results.plan.num_runs
