"""One request, two runs, one clock: `DecodeRequest` in, `Snapshot`s out. Knows no screen."""

from specdemo.session.race import DecodeSession
from specdemo.session.request import DecodeRequest
from specdemo.trace import ChatTurn

__all__ = ["ChatTurn", "DecodeRequest", "DecodeSession"]
