from __future__ import annotations

import pytest

from specdemo.session import DecodeSession
from specdemo.settings import read_settings
from tests.session.fakes import hold, table_pair


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> DecodeSession:
    """A session whose store holds the table pair."""
    session = DecodeSession(read_settings({}))
    hold(session, table_pair(), monkeypatch)
    return session
