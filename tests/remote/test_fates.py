"""Which step wrote which tokens, as far as that follows from what a server tells."""

from __future__ import annotations

import pytest

from specdemo.events import ServerSteps
from specdemo.remote.fates import Step, judged_tokens, placed
from specdemo.remote.rounds import Arrived, judged_rounds, pieces_of
from specdemo.trace import Fates


def steps(*told: tuple[int, int]) -> ServerSteps:
    """What a server tells: drafted and kept in each step that had a draft."""
    return ServerSteps(tuple(d for d, _ in told), tuple(a for _, a in told))


def sizes_of(found: tuple[Step, ...]) -> list[int]:
    return [step.num_tokens for step in found]


def fates_of(step: Step) -> str:
    letters = {"accepted": "a", "rejected": "r", "untested": "u", "resampled": "s", "bonus": "b",
               "normal": "n"}  # fmt: skip
    ids = list(range(step.num_tokens))
    return "".join(letters[token.outcome.value] for token in judged_tokens(ids, step))


@pytest.mark.parametrize(
    ("step", "fates"),
    [
        (Step(1), "n"),
        (Step(1, 4, 0), "ruuus"),
        (Step(3, 4, 2), "aarus"),
        (Step(4, 4, 3), "aaars"),
        (Step(5, 4, 4), "aaaab"),
        (Step(1, 1, 0), "rs"),
        # The answer ended inside what was kept: the rest was never looked at.
        (Step(2, 4, 3), "aauu"),
        (Step(4, 4, 4), "aaaa"),
    ],
)
def test_a_steps_tokens_have_the_fates_of_a_local_round(step: Step, fates: str) -> None:
    assert fates_of(step) == fates


def test_refused_tokens_have_no_id() -> None:
    judged = judged_tokens([7, 8], Step(2, 4, 1))
    assert [token.token_id for token in judged] == [7, None, None, None, 8]


def test_a_draft_in_each_step_places_them_all() -> None:
    told = steps((4, 0), (4, 2), (4, 4))
    assert placed([1, 1, 3, 5], told) == (
        Fates.KNOWN, (Step(1), Step(1, 4, 0), Step(3, 4, 2), Step(5, 4, 4)),
    )  # fmt: skip


def test_parts_that_hold_several_steps_are_taken_apart() -> None:
    fates, found = placed([2, 8], steps((4, 0), (4, 2), (4, 4)))
    assert (fates, sizes_of(found)) == (Fates.KNOWN, [1, 1, 3, 5])


def test_a_part_that_ends_inside_a_step_fits_nothing() -> None:
    assert placed([1, 3, 6], steps((4, 0), (4, 2), (4, 4)))[0] is Fates.NOT_FITTING


def test_the_last_step_may_be_cut_but_not_guessed_at_in_late_parts() -> None:
    told = steps((4, 0), (4, 4))
    assert sizes_of(placed([1, 1, 3], told)[1]) == [1, 1, 3]
    assert placed([5], told)[0] is Fates.NOT_FITTING


def test_n_gram_steps_that_kept_something_show_by_their_size() -> None:
    # Three steps without a draft, one refused altogether: it may be any of four.
    fates, found = placed([1, 1, 3, 1, 1, 1], steps((4, 2), (4, 0)))
    assert fates is Fates.KEPT
    assert found == (Step(1), Step(1), Step(3, 4, 2), Step(1), Step(1), Step(1))


def test_n_gram_steps_are_all_known_when_none_was_refused_altogether() -> None:
    assert placed([1, 1, 3, 1], steps((4, 2)))[0] is Fates.KNOWN


def test_n_gram_steps_are_all_known_when_every_single_one_was_refused() -> None:
    fates, found = placed([1, 1, 3, 1], steps((4, 0), (4, 2), (4, 0)))
    assert fates is Fates.KNOWN
    assert found == (Step(1), Step(1, 4, 0), Step(3, 4, 2), Step(1, 4, 0))


def test_n_gram_steps_in_late_parts_fit_nothing() -> None:
    assert placed([1, 2, 3, 1, 1], steps((4, 2)))[0] is Fates.NOT_FITTING
    assert placed([1, 6], steps((4, 2)))[0] is Fates.NOT_FITTING


def test_nothing_told_and_nothing_drafted_are_two_things() -> None:
    assert placed([1, 1], None) == (Fates.NOT_TOLD, (Step(1), Step(1)))
    assert placed([1, 1], steps()) == (Fates.NO_DRAFTS, (Step(1), Step(1)))


def test_steps_that_arrived_together_waited_once() -> None:
    parts = [Arrived((5,), "a", 0.0), Arrived((6, 7, 8), "b c", 0.3)]
    found = judged_rounds(parts, [Step(1), Step(1, 4, 0), Step(2, 4, 1)], ["a", "b", " ", "c"])
    assert [finished.waited_seconds for finished, _ in found] == [0.0, 0.3, 0.0]
    assert found[1][1] == ("", "", "", "", "b")
    assert found[2][1] == (" ", "", "", "", "c")


TEXTS = {(1,): "Hello", (1, 2): "Hello wor", (3,): "\ufffd", (3, 4): "🐈", (9,): "<|end|>"}


@pytest.mark.parametrize(
    ("part", "pieces"),
    [
        (((1, 2), "Hello wor"), ["Hello", " wor"]),
        # A tokenizer that keeps the space before a word leaves it out at the front.
        (((1, 2), " Hello wor"), [" Hello", " wor"]),
        (((3, 4), "🐈"), ["", "🐈"]),
        (((9,), ""), ["<|end|>"]),
        (((3,), ""), [""]),
        (((5,), "alone"), ["alone"]),
    ],
)
def test_each_token_has_its_piece(part: tuple[tuple[int, ...], str], pieces: list[str]) -> None:
    assert pieces_of(Arrived(*part, 0.0), lambda ids: TEXTS[tuple(ids)]) == pieces


def test_the_pieces_always_make_the_text() -> None:
    other = pieces_of(Arrived((1, 2), "Something else", 0.0), lambda ids: TEXTS[tuple(ids)])
    assert other is not None
    assert "".join(other) == "Something else"


def test_without_texts_there_are_no_pieces() -> None:
    assert pieces_of(Arrived((1, 2), "Hello wor", 0.0), lambda ids: None) is None
