"""Where a command runs: on this machine, or on two servers."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from specdemo.errors import InvalidRequestError
from specdemo.settings import Servers, Settings, read_settings
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR

ENGINES = ("local", "vllm")
_SERVER_OPTIONS = ("normal_url", "speculative_url", "model", "separate_devices")


def add_engine(command: argparse.ArgumentParser) -> None:
    """Add the options that choose the engine."""
    group = command.add_argument_group(
        "servers",
        "With --engine vllm two servers answer, and choose precision and drafts themselves. The "
        "variables SPECDEMO_VLLM_… stand for these options; a key is read from "
        "SPECDEMO_VLLM_API_KEY alone.",
    )
    group.add_argument("--engine", choices=ENGINES, default=ENGINES[0])
    group.add_argument("--normal-url", metavar="URL", help="the server that decodes normally")
    group.add_argument("--speculative-url", metavar="URL", help="the server that drafts")
    group.add_argument("--model", metavar="NAME", help="to ask for; the first served unless set")
    group.add_argument(
        "--separate-devices",
        action="store_true",
        default=None,
        help="the servers share no device, so both may answer at once",
    )


def settings_from(options: argparse.Namespace) -> Settings:
    """The settings, with the servers that the options name; raises `InvalidRequestError`."""
    settings = read_settings()
    given = {name: getattr(options, name) for name in _SERVER_OPTIONS}
    if options.engine != "vllm":
        if any(value is not None for value in given.values()):
            raise InvalidRequestError("Servers are raced with --engine vllm; add it.")
        return settings
    known = settings.servers
    servers = Servers(
        normal_url=given["normal_url"] or known.normal_url,
        speculative_url=given["speculative_url"] or known.speculative_url,
        key=known.key,
        model=given["model"] or known.model,
        are_apart=given["separate_devices"] or known.are_apart,
    )
    if not servers.are_known:
        raise InvalidRequestError(
            "Two servers are raced; give both --normal-url and --speculative-url."
        )
    return replace(settings, servers=servers)


def on_servers(options: argparse.Namespace) -> dict[str, Any]:
    """What a request asks for if servers answer it; nothing otherwise."""
    if options.engine != "vllm":
        return {}
    return {"pair": SERVER_PAIR, "precision": "auto", "draft_source": SERVER_DRAFTS}
