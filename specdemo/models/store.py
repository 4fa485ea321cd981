"""The one loaded pair and the one lock of the device.

Knows no request. Everything that runs a model holds the lock while it does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from pathlib import Path

from specdemo.models.loading import LoadedSpec, ModelPair, load_pair
from specdemo.models.memory import free_unused


class ModelStore:
    """Holds at most one `ModelPair`; `acquire` and `release` guard it and the device."""

    def __init__(self, cache_folder: Path, num_threads: int | None) -> None:
        self._cache_folder = cache_folder
        self._num_threads = num_threads
        # A plain lock: a generator that holds it may be closed from another thread.
        self._lock = threading.Lock()
        self._pair: ModelPair | None = None
        self._asked: LoadedSpec | None = None

    @property
    def busy_with(self) -> str | None:
        """The title of the pair that the device is being used for; `None` while it is free."""
        asked = self._asked
        return asked.pair.title if asked else None

    def acquire(self, should_stop: Callable[[], bool]) -> bool:
        """Wait for the device; false if told to stop first."""
        while not self._lock.acquire(timeout=0.1):
            if should_stop():
                return False
        return True

    def release(self) -> None:
        """Give the device up."""
        self._asked = None
        self._lock.release()

    def holds(self, spec: LoadedSpec) -> bool:
        """Whether that pair is the loaded one."""
        return self._pair is not None and self._pair.spec == spec

    def load(self, spec: LoadedSpec) -> Generator[str, None, ModelPair]:
        """The pair `spec` describes, telling each stage of loading; the caller holds the lock."""
        self._asked = spec
        if self._pair is not None and self.holds(spec):
            return self._pair
        self._free()
        self._pair = yield from load_pair(spec, self._cache_folder, self._num_threads)
        free_unused()  # of what only the loading needed
        return self._pair

    def _free(self) -> None:
        """Drop the old pair before the new one needs its memory."""
        self._pair = None
        free_unused()
