from __future__ import annotations

from pathlib import Path

from specdemo.settings import read_settings


def test_defaults_need_no_variable() -> None:
    settings = read_settings({"XDG_CACHE_HOME": "/somewhere"})
    assert settings.cache_folder == Path("/somewhere/specdemo")
    assert (settings.num_threads, settings.host, settings.port) == (None, "127.0.0.1", None)


def test_each_variable_is_read() -> None:
    settings = read_settings(
        {
            "SPECDEMO_CACHE": "/cache",
            "SPECDEMO_THREADS": "3",
            "GRADIO_SERVER_NAME": "0.0.0.0",
            "GRADIO_SERVER_PORT": "8000",
        }
    )
    assert settings.cache_folder == Path("/cache")
    assert (settings.num_threads, settings.host, settings.port) == (3, "0.0.0.0", 8000)
