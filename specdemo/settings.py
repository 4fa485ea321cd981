"""Environment variables and defaults, in one table. Knows no model and no screen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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
class Settings:
    """Where things are kept and how the page is served."""

    cache_folder: Path
    num_threads: int | None
    host: str
    port: int | None
    allow_custom_models: bool
    limits: Limits = Limits()


def read_settings(environ: dict[str, str] | None = None) -> Settings:
    """Settings from the environment; each variable is described in the README."""
    env = dict(os.environ) if environ is None else environ
    cache_home = env.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    host = env.get("GRADIO_SERVER_NAME", "127.0.0.1")
    allowed = env.get("SPECDEMO_ALLOW_CUSTOM_MODELS")
    is_private = host in ("127.0.0.1", "localhost", "::1") and "SPACE_ID" not in env
    threads, port = env.get("SPECDEMO_THREADS"), env.get("GRADIO_SERVER_PORT")
    return Settings(
        cache_folder=Path(env.get("SPECDEMO_CACHE") or Path(cache_home) / "specdemo"),
        num_threads=int(threads) if threads else None,
        host=host,
        port=int(port) if port else None,
        allow_custom_models=allowed.lower() in ("1", "true", "yes") if allowed else is_private,
    )
