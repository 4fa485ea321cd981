"""Starts a vLLM server on this machine's processor, waits until it answers, ends it by its id.

    python benchmarks/vllm_servers.py --python VENV/bin/python --target FOLDER

serves until Ctrl-C; `vllm.py` uses `serving`. The environment is described in README.md here, the
folders are written by `scripts/export_for_servers.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

HOST = "127.0.0.1"
METHODS = ("plain", "ngram", "draft_model")
START_SECONDS = 240.0
END_SECONDS = 30.0


@dataclass(frozen=True)
class Served:
    """What a server shall serve, and how."""

    python: Path
    target: Path
    draft: Path | None = None
    method: str = "plain"
    dtype: str = "bfloat16"
    num_draft_tokens: int = 4
    port: int = 8001
    key: str | None = None

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://{HOST}:{self.port}"

    def speculative_config(self) -> dict[str, Any] | None:
        """The value of --speculative-config."""
        if self.method == "plain":
            return None
        config: dict[str, Any] = {
            "method": self.method,
            "num_speculative_tokens": self.num_draft_tokens,
        }
        if self.method == "ngram":
            return {**config, "prompt_lookup_max": 3, "prompt_lookup_min": 2}
        return {**config, "model": str(self.draft)}

    def command(self) -> list[str]:
        """The command line."""
        config = self.speculative_config()
        return [
            str(self.python), "-m", "vllm.entrypoints.cli.main", "serve", str(self.target),
            "--served-model-name", "smol", "--host", HOST, "--port", str(self.port),
            "--dtype", self.dtype, "--max-model-len", "2048", "--max-num-seqs", "2",
            "--enforce-eager", "--no-enable-prefix-caching", "--enable-per-request-metrics",
            *(["--api-key", self.key] if self.key else []),
            *(["--speculative-config", json.dumps(config)] if config else []),
            *(["--per-request-spec-decode-metrics", "detailed"] if config else []),
        ]  # fmt: skip


@contextmanager
def serving(served: Served, log: Path) -> Iterator[str]:
    """The address of a server that answers; it is ended afterwards, whatever happens."""
    settings = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": f"0-{(os.cpu_count() or 1) - 1}",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "LD_PRELOAD": ":".join(map(str, preloaded(served.python))),
    }
    with log.open("w") as output:
        server = subprocess.Popen(
            served.command(), env={**os.environ, **settings}, stdout=output, stderr=output,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until_healthy(server, served.url, log)
        yield served.url
    finally:
        end(server)


def preloaded(python: Path) -> list[Path]:
    """The allocator and the OpenMP that vLLM asks for on processors, where they are installed."""
    places = (
        Path("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"),
        python.parent.parent / "lib" / "libiomp5.so",
    )
    return [place for place in places if place.exists()]


def wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Return as soon as the server answers; raises if it ends or takes too long."""
    last = time.monotonic() + START_SECONDS
    while time.monotonic() < last:
        if server.poll() is not None:
            raise SystemExit(f"The server ended with {server.returncode}; see {log}.")
        try:
            if httpx.get(f"{url}/health", timeout=2.0).is_success:
                return
        except httpx.TransportError:
            pass  # not listening yet
        time.sleep(0.5)
    raise SystemExit(f"The server did not answer within {START_SECONDS:.0f} s; see {log}.")


def end(server: subprocess.Popen[bytes]) -> None:
    """End the server, and what it started if it does not do that itself."""
    server.terminate()
    try:
        server.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path, required=True, help="of the vLLM environment")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--method", choices=METHODS, default="plain")
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--num-draft-tokens", type=int, default=4)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--log", type=Path, default=Path("vllm.log"))
    options = vars(parser.parse_args())
    log = options.pop("log")
    # A shell's background job gets no Ctrl-C: both signals end the server too.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    with serving(Served(**options), log) as url:
        print(f"{url} answers; Ctrl-C ends it.", file=sys.stderr)
        signal.pause()


if __name__ == "__main__":
    main()
