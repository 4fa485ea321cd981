from __future__ import annotations

import httpx
import pytest

from specdemo.settings import read_settings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.ui.fakes import FakeSession


@pytest.mark.parametrize("models", ["smollm2-135m bfloat16", None])
def test_health_tells_which_models_are_ready_and_how_many_wait(models: str | None) -> None:
    page = build_page(FakeSession())
    _, address, _ = launch(
        page, read_settings({}), loaded=lambda: models, prevent_thread_lock=True, quiet=True
    )
    try:
        answer = httpx.get(f"{address}health")
        assert answer.json() == {
            "status": "ok",
            "models_ready": models is not None,
            "models": models,
            "num_waiting": 0,
        }
    finally:
        page.close(verbose=False)
