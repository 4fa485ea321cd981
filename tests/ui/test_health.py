from __future__ import annotations

import httpx
import pytest

from specdemo.settings import read_settings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import FakeSession


@pytest.mark.parametrize("is_ready", [True, False])
def test_health_tells_whether_the_models_are_ready_and_how_many_wait(is_ready: bool) -> None:
    page = build_page(FakeSession())
    _, address, _ = launch(
        page, read_settings({}), is_ready=lambda: is_ready, prevent_thread_lock=True, quiet=True
    )
    try:
        answer = httpx.get(f"{address}health")
        assert answer.json() == {"status": "ok", "models_ready": is_ready, "num_waiting": 0}
    finally:
        page.close(verbose=False)
