"""The same races on two servers. Loads nothing; knows no engine.

Servers that share a device answer one after another: at the same time each would slow the other
down. Those on devices of their own answer at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from threading import Event

from specdemo.errors import InvalidRequestError
from specdemo.remote import Role, ServedLane, Server
from specdemo.session.answer import Answer
from specdemo.session.request import DecodeRequest
from specdemo.settings import Servers
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR, Environment, LaneSnapshot, Snapshot

NOT_REPORTED = "not reported"
_TURN_SECONDS = 0.01
_WARM_UP = DecodeRequest(
    prompt="Write one sentence about the sea.",
    pair=SERVER_PAIR,
    draft_source=SERVER_DRAFTS,
    max_new_tokens=8,
)


def check_servers(servers: Servers) -> Iterator[str]:
    """Ask both servers who they are, and for a few words: no measured run pays a first-time cost.

    A sentence for each; raises a `SpecdemoError` if one cannot be raced.
    """
    known = _known(servers)
    for role in Role:
        yield f"Asking the {role} server…"
        with closing(Server(role, known)) as server:
            server.check_role()
            for _ in _stepped([ServedLane(server, _WARM_UP, lambda: False)]):
                pass


def served_race(servers: Servers, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
    """Both answers to their end, a snapshot for each part that arrives; raises `ServerError`."""
    known = _known(servers)
    with ExitStack() as open_ones:
        both = [open_ones.enter_context(closing(Server(role, known))) for role in Role]
        environment = described(both)
        lanes = [
            open_ones.enter_context(closing(ServedLane(server, request, stop.is_set)))
            for server in both
        ]
        normal, speculative = lanes
        for together in [lanes] if known.are_apart else [[normal], [speculative]]:
            for _ in _stepped(together):
                yield Snapshot(normal.snapshot, speculative.snapshot, environment, request)


def served_answers(servers: Servers, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
    """One server's answer; draft source `none` asks the normal one."""
    role = Role.NORMAL if request.draft_source == "none" else Role.SPECULATIVE
    with (
        closing(Server(role, _known(servers))) as server,
        closing(ServedLane(server, request, stop.is_set)) as lane,
    ):
        environment = described([server])
        for snapshot in _stepped([lane]):
            yield Answer(snapshot, environment)


def described(servers: list[Server]) -> Environment:
    """What servers tell of what they run on; asks each of them, so all must be there."""
    models = dict.fromkeys(server.model() for server in servers)
    versions = {server.role: server.version() or NOT_REPORTED for server in servers}
    is_one = len(set(versions.values())) == 1
    return Environment(
        device="vLLM",
        processor=f"processor {NOT_REPORTED}",
        num_threads=None,
        precision="as served",
        pair=" & ".join(models),
        versions=(
            (("vllm", next(iter(versions.values()))),)
            if is_one
            else tuple((f"vllm ({role})", version) for role, version in versions.items())
        ),
    )


def _stepped(lanes: list[ServedLane]) -> Iterator[LaneSnapshot]:
    """Lanes side by side to their end, the snapshot of each that changed."""
    for lane in lanes:
        lane.start()
    while running := [lane for lane in lanes if not lane.is_finished]:
        for lane in running:
            if lane.step(_TURN_SECONDS):
                yield lane.snapshot


def _known(servers: Servers) -> Servers:
    if not servers.are_known:
        raise InvalidRequestError(
            "No servers are known here; set SPECDEMO_VLLM_NORMAL_URL and "
            "SPECDEMO_VLLM_SPECULATIVE_URL, or give --normal-url and --speculative-url."
        )
    return servers
