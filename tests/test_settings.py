from __future__ import annotations

from pathlib import Path

import pytest

from specdemo.settings import Servers, read_settings


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


@pytest.mark.parametrize(
    ("environ", "is_allowed"),
    [
        ({}, True),
        ({"GRADIO_SERVER_NAME": "0.0.0.0"}, False),
        ({"SPACE_ID": "someone/space"}, False),
        ({"SPACE_ID": "someone/space", "SPECDEMO_ALLOW_CUSTOM_MODELS": "1"}, True),
        ({"SPECDEMO_ALLOW_CUSTOM_MODELS": "0"}, False),
    ],
)
def test_models_of_ones_own_are_for_ones_own_machine(
    environ: dict[str, str], is_allowed: bool
) -> None:
    assert read_settings(environ).allow_custom_models is is_allowed


@pytest.mark.parametrize(
    ("environ", "pairs", "seconds"),
    [
        ({}, None, None),
        ({"SPECDEMO_PAIRS": "smollm2-1.7b"}, ("smollm2-135m", "smollm2-1.7b"), None),
        ({"SPACE_ID": "someone/space"}, ("smollm2-135m",), 600.0),
        (
            {"GRADIO_SERVER_NAME": "0.0.0.0", "SPECDEMO_PAIRS": "a, b,"},
            ("smollm2-135m", "a", "b"),
            600.0,
        ),
    ],
)
def test_strangers_run_the_bundled_or_the_configured_pairs_and_measure_for_ten_minutes(
    environ: dict[str, str], pairs: tuple[str, ...] | None, seconds: float | None
) -> None:
    settings = read_settings(environ)
    assert (settings.pairs, settings.measuring_seconds) == (pairs, seconds)


def test_servers_are_read_and_a_space_has_none() -> None:
    environ = {
        "SPECDEMO_VLLM_NORMAL_URL": "http://a",
        "SPECDEMO_VLLM_SPECULATIVE_URL": "http://b",
        "SPECDEMO_VLLM_API_KEY": "s3cret",
        "SPECDEMO_VLLM_MODEL": "m",
        "SPECDEMO_VLLM_APART": "1",
    }
    servers = read_settings(environ).servers
    assert servers == Servers("http://a", "http://b", "s3cret", "m", are_apart=True)
    assert servers.are_known
    assert "s3cret" not in repr(read_settings(environ))
    assert not read_settings({**environ, "SPACE_ID": "someone/space"}).servers.are_known
    assert not read_settings({"SPECDEMO_VLLM_NORMAL_URL": "http://a"}).servers.are_known
