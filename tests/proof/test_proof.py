"""The proof holds for the engine and fails for every planted fault."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import product
from threading import Event

import pytest
import torch

from specdemo.engine.sampling import Sampler
from specdemo.errors import InvalidRequestError
from specdemo.proof import (
    FAULTS,
    SOUND,
    Proof,
    ProofPlan,
    proof_request,
    prove,
    verdict,
)
from specdemo.proof.exact import exact_distribution, marginal
from specdemo.proof.remembering import PassTree
from specdemo.session import DecodeRequest, DecodeSession, LentModels
from specdemo.session.environment import describe
from specdemo.session.lent import lend
from specdemo.settings import read_settings
from tests.fakes import TableRunner, random_table
from tests.session.fakes import hold, table_pair

NUM_RUNS = 2_000


class Lender:
    """A session that lends table models."""

    def __init__(self, vocab_size: int = 12, ends: frozenset[int] = frozenset()) -> None:
        self.table = random_table(vocab_size, 1)
        self.other = self.table + random_table(vocab_size, 2, spread=0.8)
        self.ends = ends

    def lent(
        self, request: DecodeRequest, stop: Event
    ) -> AbstractContextManager[LentModels | None]:
        models = lend(table_pair(), request, [1, 2], describe(table_pair()), lambda: None)
        return nullcontext(
            replace(
                models,
                target=TableRunner(self.table),
                draft=models.draft and TableRunner(self.other),
                end_token_ids=self.ends,
            )
        )  # fmt: skip


def proven(session: Lender | DecodeSession, fault: str = SOUND, **given: int) -> Proof:
    num_runs = given.pop("num_runs", NUM_RUNS)
    *_, last = prove(session, ProofPlan(proof_request("x", **given), num_runs, fault), Event())
    return last


@pytest.mark.parametrize("seed", range(2))
def test_both_lanes_of_the_engine_are_not_rejected(seed: int) -> None:
    """Each lane would be rejected once in 10⁴ seeds; the seeds are fixed."""
    proof = proven(Lender(), seed=seed)
    found = verdict(proof)
    assert proof.is_complete
    assert found.speculative.is_rejected is False
    assert found.normal.is_rejected is False
    assert sum(proof.speculative.values()) == sum(proof.normal.values()) == NUM_RUNS


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_caught_and_only_in_the_speculative_lane(
    fault: str,
) -> None:
    found = verdict(proven(Lender(), fault))
    assert found.speculative.is_rejected is True
    assert found.speculative.distance.value > found.speculative.distance.high
    assert found.normal.is_rejected is False


def test_an_answer_may_end_before_its_third_token() -> None:
    lender = Lender(ends=frozenset({int(random_table(12, 1)[2].argmax())}))
    proof = proven(lender, num_runs=3_000)
    assert {len(tokens) for tokens in proof.exact} > {1}
    assert sum(proof.exact.values()) == pytest.approx(1.0)
    assert verdict(proof).speculative.is_rejected is False
    last = marginal(proof.exact, 2)
    assert last[None] == pytest.approx(
        sum(prob for tokens, prob in proof.exact.items() if len(tokens) < 3)
    )


def test_the_exact_distribution_is_the_product_of_the_targets_rows() -> None:
    request = proof_request("x")
    table = random_table(10, 5)
    tree = PassTree(TableRunner(table))
    sampler = Sampler(request.sampling_params, 0)
    exact = exact_distribution(tree, sampler, [3, 4], 3, frozenset())
    rows = torch.stack([d.dense().double() for d in sampler.warp(table, [])])
    for a, b, c in product(range(10), repeat=3):
        expected = float(rows[4, a] * rows[a, b] * rows[b, c])
        assert exact.get((a, b, c), 0.0) == pytest.approx(expected, abs=1e-7)
    assert sum(exact.values()) == pytest.approx(1.0)
    assert tree.num_passes <= 1 + 1 + 8 + 64


def test_stopped_it_ends_with_what_was_counted() -> None:
    stop = Event()
    proofs = prove(Lender(), ProofPlan(proof_request("x"), NUM_RUNS), stop)
    first = next(proofs)
    stop.set()
    assert list(proofs) == []
    assert 0 < first.num_runs < NUM_RUNS
    assert not first.is_complete


def test_stopped_before_the_device_was_free_there_is_nothing() -> None:
    class Busy(Lender):
        def lent(
            self, request: DecodeRequest, stop: Event
        ) -> AbstractContextManager[LentModels | None]:
            return nullcontext(None)

    assert list(prove(Busy(), ProofPlan(proof_request("x")), Event())) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: ProofPlan(proof_request("x"), 0),
        lambda: ProofPlan(proof_request("x"), fault="gremlins"),
        lambda: proof_request(" "),
        lambda: proven(Lender(), num_runs=10, draft_source="none"),
    ],
)
def test_what_cannot_be_proven_is_refused_in_a_sentence(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequestError) as error:
        make()
    assert str(error.value).endswith(".")


def test_a_session_lends_its_loaded_pair_and_takes_the_device_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = DecodeSession(read_settings({}))
    hold(session, table_pair(), monkeypatch)
    proof = proven(session, num_runs=600, seed=3)
    assert verdict(proof).speculative.is_rejected is False
    assert all(proof.texts[token_id] for tokens in proof.exact for token_id in tokens)
    assert session._store.acquire(lambda: True)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [SOUND, *FAULTS])
def test_the_bundled_pair_holds_and_each_fault_shows(fault: str) -> None:
    session = DecodeSession(read_settings())
    plan = ProofPlan(proof_request("Give me a random word."), fault=fault)
    *_, proof = prove(session, plan, Event())
    found = verdict(proof)
    assert found.speculative.is_rejected is (fault != SOUND)
    assert found.normal.is_rejected is False
