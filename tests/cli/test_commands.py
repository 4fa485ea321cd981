"""`bench`, `score` and `models`, as someone at a terminal meets them."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdemo import cli
from specdemo.benchmark import tables
from specdemo.benchmark.results import read
from specdemo.cli import bench, score, verify
from tests.ui.fakes import FakeSession

SCORE_KEYS = {
    "average_log_likelihood", "answer_average_log_likelihood", "perplexity", "draft_seconds",
    "score_seconds", "first_difference", "num_changed_ids", "speculative", "normal",
}  # fmt: skip
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeSession:
    """The commands on a fake session, in an empty folder."""
    session = FakeSession()
    for command in (bench, score, verify):
        monkeypatch.setattr(command, "DecodeSession", lambda settings: session)
    monkeypatch.chdir(tmp_path)
    return session


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("command", ["run", "bench", "score", "verify", "models", "replay"])
def test_every_command_explains_itself_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([command, "--help"])
    assert stopped.value.code == 0
    assert f"python -m specdemo {command}" in capsys.readouterr().out


@pytest.mark.usefixtures("fake")
def test_bench_prints_the_tutorials_figures_next_to_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "bench", "--repeats", "1", "--html", "r.html", "--csv", "r.csv")
    assert code == 0
    for figure in ("25.09", "15.78", "Ours: bfloat16, hybrid, adaptive"):
        assert figure in out
    assert "10 of 10 runs" in err
    assert Path("r.html").stat().st_size > 1_000_000
    assert Path("r.csv").read_text().count("\n") == 11
    assert read(Path("bench-tutorial.json")).is_complete


@pytest.mark.usefixtures("fake")
def test_bench_again_repeats_nothing_and_prints_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ("bench", "--repeats", "1", "--json", "--max-new-tokens", "8")
    _, first, _ = run(capsys, *given)
    code, again, err = run(capsys, *given)
    assert (code, again) == (0, first)
    assert "holds 10 of 10 runs" in err
    assert json.loads(first)["num_runs"] == 10


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--suite", "none.txt"], "none.txt cannot be read"),
        (["--draft-length", "99"], "draft tokens must lie between 1 and 16"),
        (["--repeats", "0"], "repeats must lie between"),
        (["--output", "/proc/no/way.json"], "cannot be written"),
    ],
)
def test_what_bench_cannot_do_is_a_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "bench", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


def test_ctrl_c_prints_what_was_measured(
    fake: FakeSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, count = fake.answer, iter(range(100))

    def answer(*given: Any) -> Any:
        if next(count) == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(*given)

    monkeypatch.setattr(fake, "answer", answer)
    code, out, err = run(capsys, "bench", "--repeats", "1", "--json")
    assert code == 130
    assert json.loads(out)["num_runs"] == 6
    assert "Ctrl-C again" in err
    assert len(read(Path("bench-tutorial.json")).rows) == 6


@pytest.mark.usefixtures("fake")
def test_score_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "score", "--prompt", "hi", "--max-new-tokens", "40", "--json")
    result = json.loads(out)
    assert code == 0
    assert set(result) >= SCORE_KEYS
    assert result["first_difference"] == 4
    assert result["draft"]["text"] != result["speculative"]["text"] == result["normal"]["text"]


def test_an_impossible_draft_is_scored_in_json_that_every_reader_takes(
    fake: FakeSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fake.score

    def score_of_nothing(*given: Any) -> Any:
        scored = whole(*given)
        assert scored
        tokens = tuple(replace(token, log_prob=-math.inf) for token in scored.tokens)
        return replace(scored, tokens=tokens)

    monkeypatch.setattr(fake, "score", score_of_nothing)
    code, out, _ = run(capsys, "score", "--prompt", "hi", "--json")
    result = json.loads(out, parse_constant=pytest.fail)
    assert code == 0
    assert result["perplexity"] is result["average_log_likelihood"] is None


@pytest.mark.usefixtures("fake")
def test_score_says_in_words_where_they_part(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "score", "--prompt", "hi", "--completion")
    assert code == 0
    assert "from answer token 5 on the target would have written something else" in out
    assert "average log-likelihood" in out


@pytest.mark.usefixtures("fake")
def test_verify_tells_p_value_and_distance_of_both_lanes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "verify", "--num-runs", "2000")
    assert code == 0
    assert out.count("not rejected") == 2
    assert "2,000 of 2,000 runs" in err
    for told in ("SPECULATIVE  p = ", "NORMAL       p = ", "total variation", "passes were"):
        assert told in out


@pytest.mark.usefixtures("fake")
def test_verify_catches_a_planted_fault_and_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("verify", "--num-runs", "2000", "--break-it", "target_replacement", "--json")
    code, out, _ = run(capsys, *given)
    result = json.loads(out)
    assert code == 0
    assert result["speculative"]["is_rejected"] is True
    assert result["normal"]["is_rejected"] is False
    assert sum(result["speculative"]["counts"].values()) == result["num_runs"] == 2000
    assert sum(result["exact"].values()) == pytest.approx(1.0)


def test_models_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "models", "--json")
    pair = json.loads(out)["models"][0]
    assert code == 0
    assert (pair["name"], pair["licence"]) == ("smollm2-135m", "Apache-2.0")
    _, text, _ = run(capsys, "models")
    assert "Apache-2.0" in text


def test_the_tutorials_own_figures_are_these() -> None:
    assert [figures[:2] for _, figures in tables.TUTORIAL] == [(25.09, 15.78), (27.65, 15.56)]


@pytest.mark.slow
def test_killed_in_the_middle_a_benchmark_of_the_bundled_pair_goes_on(tmp_path: Path) -> None:
    suite, whole, killed = (tmp_path / name for name in ("s.txt", "whole.json", "killed.json"))
    suite.write_text("What is rain?\nWhat is snow?\n")
    command = [sys.executable, "-m", "specdemo", "bench", "--suite", str(suite), "--json",
               "--repeats", "2", "--max-new-tokens", "12", "--draft-length", "4"]  # fmt: skip
    process = subprocess.Popen([*command, "--output", str(killed)], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    deadline = time.monotonic() + 240
    while not (killed.exists() and len(read(killed).rows) >= 3):
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read(killed).rows
    assert 3 <= len(before) < 8
    for output in (killed, whole):
        subprocess.run([*command, "--output", str(output)], cwd=ROOT, check=True, timeout=240,
                       capture_output=True)  # fmt: skip
    after, uninterrupted = read(killed), read(whole)
    assert after.rows[: len(before)] == before
    assert [(row.run, row.token_ids, row.text) for row in after.rows] == [
        (row.run, row.token_ids, row.text) for row in uninterrupted.rows
    ]
