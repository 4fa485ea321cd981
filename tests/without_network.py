"""Starts the app and races on its page: to be run where there is no network but the own machine's.

unshare -rn python -m tests.without_network
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx

from benchmarks.soak import Visit, ended, joined

ROOT = Path(__file__).resolve().parent.parent
_SET_FLAGS, _IS_UP = 0x8914, 0x1  # SIOCSIFFLAGS and IFF_UP of Linux


def raise_loopback() -> None:
    """A new network namespace has one interface, which is down."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _IS_UP))


def has_network() -> bool:
    """Whether anything but this machine can be reached."""
    with suppress(OSError):
        socket.create_connection(("1.1.1.1", 443), timeout=1.0).close()
        return True
    return False


async def visit(address: str) -> str:
    """Open the page with all that it names, load the models, race; returns how the race ended."""
    async with httpx.AsyncClient(base_url=address, timeout=None) as client:
        page = await client.get("/")
        named = set(re.findall(r'(?:src|href)="(\.?/?[\w./-]+\.(?:js|css))"', page.text))
        assert named
        for path in named:
            answer = await client.get("/" + path.lstrip("./"))
            assert answer.status_code == 200, path
        config = (await client.get("/config")).json()
        visit = Visit(client, config, "visit")
        for name in ("greet", "first"):
            assert (await visit.ask(name)).status_code == 200
        assert (await visit.ask("load")).status_code == 200
        async for message in visit.told():
            last = message
        assert last["success"]
        await joined(visit, "What is rain?", "auto")
        status, lanes = await ended(visit)
        assert lanes["normal"] == lanes["speculative"] != ""
        return status


def main() -> None:
    """Prints how the race ended."""
    raise_loopback()
    assert not has_network()
    environ = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    environ["GRADIO_SERVER_PORT"] = "7860"  # nobody else is in this namespace
    app = subprocess.Popen([sys.executable, str(ROOT / "app.py")], cwd=ROOT, env=environ)
    try:
        while app.poll() is None:
            with suppress(httpx.TransportError):
                httpx.get("http://127.0.0.1:7860/health").raise_for_status()
                break
        print(asyncio.run(visit("http://127.0.0.1:7860")))
    finally:
        app.send_signal(signal.SIGTERM)
        app.wait(60)


if __name__ == "__main__":
    main()
