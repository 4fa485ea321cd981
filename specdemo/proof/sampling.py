"""Many short runs of both lanes against the target's exact distribution. Knows no screen.

Every run is the engine's own `generate`; what is remembered between runs are forward passes and the
warped rows of logits, never a draw, a verdict or a token.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Final, Protocol

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import Drafter
from specdemo.engine.sampling import Warped
from specdemo.engine.verification import Verify, verify
from specdemo.errors import InvalidRequestError
from specdemo.events import RoundVerified
from specdemo.proof.exact import Tokens, exact_distribution
from specdemo.proof.faults import FAULTS, SOUND, rules_of
from specdemo.proof.remembering import PassTree, RememberingRunner, RememberingSampler
from specdemo.session import DecodeRequest, LentModels
from specdemo.trace import Environment

NUM_TOKENS: Final = 3
NUM_RUNS: Final = 20_000
_MOST_RUNS = 1_000_000
_BATCH = 500
_SEEDS_APART = 1_000_003  # the two lanes' seeds; a prime, so that no two tests share one by habit


class Session(Protocol):
    """What the proof needs of a session."""

    def lent(
        self, request: DecodeRequest, stop: Event
    ) -> AbstractContextManager[LentModels | None]:
        """The request's models and the device."""


@dataclass(frozen=True, slots=True)
class ProofPlan:
    """What to test, validated on creation; raises `InvalidRequestError`.

    `fault` is the name of a planted fault, or `none`.
    """

    request: DecodeRequest
    num_runs: int = NUM_RUNS
    fault: str = SOUND

    def __post_init__(self) -> None:
        if not 1 <= self.num_runs <= _MOST_RUNS:
            raise InvalidRequestError(
                f"The number of runs must lie between 1 and {_MOST_RUNS:,}; it is {self.num_runs}."
            )
        if self.fault not in (SOUND, *FAULTS):
            known = ", ".join((SOUND, *FAULTS))
            raise InvalidRequestError(f"The fault {self.fault!r} is unknown; choose {known}.")


def proof_request(prompt: str, **given: Any) -> DecodeRequest:
    """The request of a proof: warped hard enough that a mistake in warping would show."""
    defaults = {
        "temperature": 0.7,
        "top_k": 8,
        "top_p": 0.9,
        "draft_source": "model",
        "draft_length": "fixed",
        "num_draft_tokens": 4,
        "max_new_tokens": NUM_TOKENS,
    }
    return DecodeRequest(prompt, **{**defaults, **given})


@dataclass(frozen=True, slots=True)
class Proof:
    """What has been counted so far: tokens of each lane, how often; and what they should follow.

    `num_passes` counts the forward passes that were really computed, both models together.
    """

    plan: ProofPlan
    environment: Environment
    exact: Mapping[Tokens, float]
    texts: Mapping[int, str]
    speculative: Mapping[Tokens, int] = field(default_factory=Counter)
    normal: Mapping[Tokens, int] = field(default_factory=Counter)
    num_runs: int = 0
    num_passes: int = 0
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether every planned run has been made."""
        return self.num_runs == self.plan.num_runs


def prove(
    session: Session, plan: ProofPlan, stop: Event, clock: Callable[[], float] = time.perf_counter
) -> Iterator[Proof]:
    """The counts after each few hundred runs of both lanes; stopped, it ends with what there is.

    Raises a `SpecdemoError`.
    """
    with session.lent(plan.request, stop) as models:
        if models is None:
            return
        started = clock()
        bench = Bench(models, plan)
        exact = bench.exact()
        tokens = {token_id for outcome in exact for token_id in outcome}
        proof = Proof(plan, models.environment, exact, models.texts_of(tokens))
        speculative: Counter[Tokens] = Counter()
        normal: Counter[Tokens] = Counter()
        while not (stop.is_set() or proof.is_complete):
            size = min(_BATCH, plan.num_runs - proof.num_runs)
            for _ in range(size):
                speculative[bench.speculative()] += 1
                normal[bench.normal()] += 1
            proof = replace(
                proof,
                speculative=Counter(speculative),
                normal=Counter(normal),
                num_runs=proof.num_runs + size,
                num_passes=bench.num_passes,
                seconds=clock() - started,
            )
            yield proof


class Bench:
    """Both lanes over remembered passes; one seeded generator for each."""

    def __init__(self, models: LentModels, plan: ProofPlan) -> None:
        if models.draft is None:
            raise InvalidRequestError(
                "The proof needs drafts of a model; choose draft source model."
            )
        self._models = models
        self._request = plan.request
        self._rules = rules_of(plan.fault)
        self._target, self._draft = PassTree(models.target), PassTree(models.draft)
        warped: dict[int, Warped] = {}
        self._samplers = [
            RememberingSampler(plan.request.sampling_params, plan.request.seed + apart, warped)
            for apart in (0, _SEEDS_APART)
        ]

    @property
    def num_passes(self) -> int:
        """Forward passes computed so far."""
        return self._target.num_passes + self._draft.num_passes

    def exact(self) -> dict[Tokens, float]:
        """What both lanes should follow."""
        return exact_distribution(
            self._target,
            self._samplers[0],
            self._models.prompt_token_ids,
            self._request.max_new_tokens,
            self._models.end_token_ids,
        )

    def speculative(self) -> Tokens:
        """The tokens of one more run."""
        sampler = self._samplers[0]
        drafter = self._rules.new_drafter(RememberingRunner(self._draft), sampler)
        return self._run(drafter, sampler, self._rules.verify)

    def normal(self) -> Tokens:
        """The tokens of one more run without a draft."""
        return self._run(NoDrafter(), self._samplers[1], verify)

    def _run(self, drafter: Drafter, sampler: RememberingSampler, rule: Verify) -> Tokens:
        events = generate(
            RememberingRunner(self._target),
            drafter,
            sampler,
            self._models.prompt_token_ids,
            draft_length=FixedLength(self._request.num_draft_tokens),
            max_new_tokens=self._request.max_new_tokens,
            end_token_ids=self._models.end_token_ids,
            verify=rule,
        )
        return tuple(
            token.token_id
            for event in events
            if isinstance(event, RoundVerified)
            for token in event.round.output_tokens
            if token.token_id is not None
        )
