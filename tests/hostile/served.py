"""A running app on tiny models, and a watch on what its process opens."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import specdemo
from specdemo.models.loading import ModelPair
from specdemo.session import DecodeSession
from specdemo.settings import ASSETS_FOLDER, read_settings
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.serving import launch
from specdemo.ui.wiring import build_page
from tests.session.fakes import hold, table_pair

ROOT = Path(specdemo.__file__).resolve().parent.parent
# What the server reads of itself and of the system, whoever asks.
_OWN = (str(ASSETS_FOLDER), sys.prefix, sys.base_prefix, "/proc/", "/sys/fs/cgroup", "/dev/null")


class Watch:
    """What threads other than the test's own open and connect to, while it is on."""

    def __init__(self, work_folder: Path) -> None:
        self.is_on = False
        self.work_folder = work_folder
        self.touched: list[str] = []
        self._allowed = (*_OWN, str(work_folder))
        # A hook cannot be taken back; it is only ever switched off.
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.is_on or threading.current_thread() is threading.main_thread():
            return
        if event.startswith(("socket.connect", "socket.getaddrinfo", "subprocess", "os.system")):
            self.touched.append(f"{event} {args[1:] or args}")
        elif event in ("open", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir"):
            path = args[0]
            # A name inside a folder that is held open, which was looked at when it was opened.
            is_relative = event in ("os.remove", "os.rmdir", "os.mkdir") and args[-1] != -1
            if (
                not is_relative
                and isinstance(path, (str, bytes, Path))
                and not self._is_allowed(str(path))
            ):
                self.touched.append(f"{event} {path!r}")

    def _is_allowed(self, path: str) -> bool:
        try:
            place = str(Path(path).resolve())
        except ValueError:
            return False
        return place.startswith(self._allowed)


@contextmanager
def served(work_folder: Path, pair: ModelPair | None = None) -> Iterator[tuple[str, Watch]]:
    """The page as the open internet gets it, every temporary file in one folder; its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(work_folder))
        patch.setattr(tempfile, "tempdir", str(work_folder))
        settings = read_settings({"SPACE_ID": "someone/space"})
        session = DecodeSession(settings)
        hold(session, pair or table_pair(), patch)
        page = build_page(session, bundled_recordings())
        watch = Watch(work_folder)
        _, address, _ = launch(page, settings, prevent_thread_lock=True, quiet=True)
        try:
            yield str(address).rstrip("/"), watch
        finally:
            page.close(verbose=False)
