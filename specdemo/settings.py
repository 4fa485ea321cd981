"""Environment variables and defaults, in one table. Knows no model and no screen."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

BUNDLED_PAIR = "smollm2-135m"
SHARED_MEASURING_SECONDS = 600.0  # others wait for the device
ASSETS_FOLDER = Path(__file__).resolve().parent.parent / "assets"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for."""

    num_draft_tokens: int = 16
    # What a policy may choose: with the next token that is one block of the compiled pass.
    chosen_draft_tokens: int = 15
    new_tokens: int = 1024
    prompt_characters: int = 40_000
    run_seconds: float = 600.0  # of the wall clock, pauses included


@dataclass(frozen=True, slots=True)
class Servers:
    """Two servers to race: where they are, the key for both, the model to ask for.

    Without a model the first that a server lists is asked for. Servers that `are_apart` do not
    share a device, so they may run at the same time.
    """

    normal_url: str = ""
    speculative_url: str = ""
    key: str | None = field(default=None, repr=False)
    model: str | None = None
    are_apart: bool = False

    @property
    def are_known(self) -> bool:
        """Whether both addresses are given."""
        return bool(self.normal_url and self.speculative_url)


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things are kept and how the page is served.

    `pairs` are the names of the catalogue that may be run, `None` for all of it;
    `measuring_seconds` is how long one benchmark or proof may keep the device, `None` for ever.
    """

    cache_folder: Path
    num_threads: int | None
    host: str
    port: int | None
    allow_custom_models: bool
    pairs: tuple[str, ...] | None = None
    measuring_seconds: float | None = None
    servers: Servers = Servers()
    limits: Limits = Limits()


def read_settings(environ: dict[str, str] | None = None) -> Settings:
    """Settings from the environment; each variable is described in the README."""
    env = dict(os.environ) if environ is None else environ
    cache_home = env.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    host = env.get("GRADIO_SERVER_NAME", "127.0.0.1")
    allowed = env.get("SPECDEMO_ALLOW_CUSTOM_MODELS")
    is_private = host in ("127.0.0.1", "localhost", "::1") and "SPACE_ID" not in env
    named = [name.strip() for name in env.get("SPECDEMO_PAIRS", "").split(",") if name.strip()]
    threads, port = env.get("SPECDEMO_THREADS"), env.get("GRADIO_SERVER_PORT")
    return Settings(
        cache_folder=Path(env.get("SPECDEMO_CACHE") or Path(cache_home) / "specdemo"),
        num_threads=int(threads) if threads else None,
        host=host,
        port=int(port) if port else None,
        pairs=None if is_private and not named else (BUNDLED_PAIR, *named),
        measuring_seconds=None if is_private else SHARED_MEASURING_SECONDS,
        allow_custom_models=_is_on(allowed) if allowed else is_private,
        # A Space is anybody's: it drives nobody's servers.
        servers=Servers() if "SPACE_ID" in env else _servers(env),
    )


def _servers(env: dict[str, str]) -> Servers:
    return Servers(
        env.get("SPECDEMO_VLLM_NORMAL_URL", ""),
        env.get("SPECDEMO_VLLM_SPECULATIVE_URL", ""),
        key=env.get("SPECDEMO_VLLM_API_KEY") or None,
        model=env.get("SPECDEMO_VLLM_MODEL") or None,
        are_apart=_is_on(env.get("SPECDEMO_VLLM_APART", "")),
    )


def _is_on(value: str) -> bool:
    return value.lower() in ("1", "true", "yes")
