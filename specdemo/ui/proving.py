"""What happens in the tab that proves: values in, values out. Knows no component and no HTML."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event
from typing import NamedTuple

from specdemo.errors import SpecdemoError
from specdemo.proof import Proof, ProofPlan, Session, proof_request, prove
from specdemo.ui.form import new_seed
from specdemo.ui.measuring import MeasuringUpdate
from specdemo.ui.pacing import Ticker, within
from specdemo.ui.proof_view import proof_value
from specdemo.ui.updates import said, status
from specdemo.ui.visitors import Visitors
from specdemo.ui.wording import words

_LOGGER = logging.getLogger(__name__)
_VIEW_SECONDS = 1.0


class ProofForm(NamedTuple):
    """The proof's fields, in the order in which they are wired."""

    prompt: str | None
    mode: str
    num_runs: float | None
    fault: str
    precision: str


class ProofHandlers:
    """One session, many visitors."""

    def __init__(
        self,
        session: Session,
        visitors: Visitors,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._visitors = visitors
        self._seconds = seconds
        self._clock = clock

    def prove(
        self, session_hash: str | None, form: ProofForm, language: str
    ) -> Iterator[MeasuringUpdate]:
        """Updates until every run is counted, or one sentence that says why not."""
        visitor = self._visitors.enter(session_hash)
        visitor.stop, visitor.proof = Event(), None
        try:
            plan = plan_from(form)
            yield MeasuringUpdate(view="", status=status("busy", "proof_exactly"), is_running=True)
            ticker = Ticker(_VIEW_SECONDS)
            states = prove(self._session, plan, visitor.stop)
            proofs = within(self._seconds, states, visitor.stop, self._clock)
            with closing(proofs):  # type: ignore[type-var]
                for proof in proofs:
                    visitor.proof = proof
                    now = self._clock()
                    if ticker.is_due(now):
                        yield MeasuringUpdate(
                            proof_value(proof, language), _running(proof, language)
                        )
                        ticker.done(now, self._clock())
            value = proof_value(visitor.proof, language)
            yield MeasuringUpdate(value, _ending(visitor.proof, language), False)
        except SpecdemoError as error:
            yield MeasuringUpdate(status=said("error", str(error)), is_running=False)
        except Exception:
            _LOGGER.exception("a proof failed")
            yield MeasuringUpdate(status=status("error", "status_unexpected"), is_running=False)


def plan_from(form: ProofForm) -> ProofPlan:
    """What the form asks for; the seed is new each time, and told."""
    request = proof_request(
        form.prompt or "",
        is_chat=form.mode == "chat",
        precision=form.precision,
        seed=new_seed(),
    )
    return ProofPlan(request, int(form.num_runs or 0), form.fault)


def _running(proof: Proof, language: str) -> str:
    numbers = {"done": proof.num_runs, "planned": proof.plan.num_runs}
    return said("busy", words(language)["proof_running"].format(**numbers))


def _ending(proof: Proof | None, language: str) -> str:
    if proof is None:
        return status("done", "status_stopped")
    numbers = {"done": proof.num_runs, "planned": proof.plan.num_runs}
    key = "proof_done" if proof.is_complete else "proof_stopped"
    return said("done", words(language)[key].format(**numbers))
