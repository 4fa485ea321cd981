"""One request, two runs, one clock: `DecodeRequest` in, `Snapshot`s out. Knows no screen."""

from specdemo.session.answer import Answer
from specdemo.session.decode_session import DecodeSession
from specdemo.session.lent import LentModels
from specdemo.session.request import DecodeRequest
from specdemo.session.scored import ScoredText, ScoredToken
from specdemo.trace import ChatTurn

__all__ = [
    "Answer",
    "ChatTurn",
    "DecodeRequest",
    "DecodeSession",
    "LentModels",
    "ScoredText",
    "ScoredToken",
]
