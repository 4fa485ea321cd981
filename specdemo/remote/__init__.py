"""Runs from servers: vLLM's OpenAI API in, the events of a run out.

What a server does inside is not observed: a client sees tokens arrive, and what the server tells of
itself. The two are never mixed. Knows no engine, no model and no screen.
"""

from specdemo.remote.lane import ServedLane
from specdemo.remote.server import Role, Server

__all__ = ["Role", "ServedLane", "Server"]
