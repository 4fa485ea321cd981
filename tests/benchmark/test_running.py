from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from specdemo.benchmark import Results, begin, recorded, run_benchmark
from specdemo.benchmark.results import read, repeated_share, write
from specdemo.errors import InvalidRequestError, PromptTooLongError, ResultsFileError
from specdemo.session import Answer, DecodeRequest
from tests.benchmark.plans import finished, plan, ticking
from tests.ui.fakes import FakeSession


def test_every_combination_runs_once_in_alternating_order() -> None:
    runs = list(plan(precisions=("float32", "bfloat16")).runs())
    assert len(runs) == len(set(runs)) == 3 * 2 * 3 * 2
    names = [run.method.name for run in runs if (run.precision, run.repeat) == ("float32", 0)]
    forward = ["normal", "model, fixed 2", "model, adaptive"]
    assert names == [*forward, *forward[::-1], *forward]
    assert [run.precision for run in runs] == ["float32"] * 18 + ["bfloat16"] * 18
    assert {run.seed for run in runs if run.repeat == 1} == {43}


@pytest.mark.parametrize(
    "changes",
    [
        {"repeats": 0},
        {"draft_lengths": ("99",)},
        {"draft_lengths": ("clever",)},
        {"draft_sources": ()},
        {"draft_sources": ("model", "model")},
        {"precisions": ("float8",)},
        {"temperature": float("nan")},
        {"max_new_tokens": 10**9},
    ],
)
def test_a_plan_that_cannot_run_is_refused_before_it_runs(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError):
        plan(**changes)


def test_a_file_written_and_read_holds_the_same_results(tmp_path: Path) -> None:
    results = finished(plan())
    write(results, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == results
    assert results.is_complete


def test_killed_and_started_again_repeats_no_row_and_ends_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    killed = recorded(run_benchmark(FakeSession(), begin(plan(), path), Event()), path)
    for progress in killed:
        if len(progress.results.rows) == 7:
            break
    killed.close()  # type: ignore[attr-defined]
    first = read(path)
    assert len(first.rows) == 7

    class Counting(FakeSession):
        num_answers = 0

        def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
            self.num_answers += 1
            return super().answer(request, stop)

    session = Counting()
    for _ in recorded(run_benchmark(session, begin(plan(), path), Event()), path):
        pass
    assert session.num_answers == plan().num_runs - 7
    assert read(path).rows[:7] == first.rows
    assert read(path) == finished(plan())


def test_a_stopped_run_leaves_the_rows_before_it(tmp_path: Path) -> None:
    path, stop = tmp_path / "r.json", Event()
    for progress in recorded(run_benchmark(FakeSession(), Results(plan()), stop), path):
        if len(progress.results.rows) == 4:
            stop.set()
    assert len(read(path).rows) == len(progress.results.rows) == 4
    assert progress.results.missing[0] == list(plan().runs())[4]


def test_a_prompt_beyond_the_context_window_names_its_line_and_loses_nothing(
    tmp_path: Path,
) -> None:
    class Narrow(FakeSession):
        def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
            if request.prompt == "Prompt 2":
                raise PromptTooLongError("The prompt has too many tokens; shorten it.")
            return super().answer(request, stop)

    path = tmp_path / "r.json"
    with pytest.raises(InvalidRequestError, match=r"line 2 of three.txt: The prompt has too many"):
        list(recorded(run_benchmark(Narrow(), Results(plan()), Event()), path))
    assert len(read(path).rows) == 3


def test_results_of_another_plan_are_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write(Results(plan()), path)
    with pytest.raises(ResultsFileError, match="another plan"):
        begin(plan(seed=7), path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "x", "version": 1}', "\ud83d"])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    before = path.read_bytes()
    with pytest.raises(ResultsFileError, match="name another output file"):
        begin(plan(), path)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_to_costs_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    progresses = recorded(
        run_benchmark(FakeSession(), Results(plan()), Event()), tmp_path / "file" / "r.json"
    )
    with pytest.raises(ResultsFileError, match="cannot be written"):
        next(progresses)


def test_the_time_left_is_what_the_rest_takes_at_the_pace_so_far() -> None:
    rows = [p for p in run_benchmark(FakeSession(), Results(plan()), Event(), ticking()) if p]
    lefts = [p.seconds_left for p in rows if p.seconds_left is not None]
    assert lefts == [2.0 * left for left in range(17, -1, -1)]


def test_only_a_loop_counts_as_repeated() -> None:
    assert repeated_share([1, 2, 3, 4, 5, 6, 7]) == 0.0
    assert repeated_share([1, 2, 3, 4, 9, 1, 2, 3, 4, 8]) == 0.4
    assert repeated_share([]) == 0.0


def test_a_row_keeps_the_environment_it_was_measured_in() -> None:
    results = finished(plan(repeats=1))
    row, here = results.rows[0], results.environments[0]
    moved = results.with_row(row, replace(here, processor="another"))
    assert [e.processor for e in moved.environments] == [here.processor, "another"]
    assert moved.rows[-1].environment == 1
