"""Whether a visitor's run may go on: freely, one pass at a time, or not at all.

The run simply is not asked for its next event. Knows no run and no screen.
"""

from __future__ import annotations

from threading import Condition

PATIENCE_SECONDS = 20.0


class Pace:
    """Read by the run between two passes, set by its visitor."""

    def __init__(self, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._changed = Condition()
        self._is_paused = False
        self._num_steps = 0

    @property
    def is_paused(self) -> bool:
        """Whether passes are asked for one by one."""
        return self._is_paused

    def step(self) -> None:
        """Pause, after one more pass."""
        with self._changed:
            self._is_paused = True
            self._num_steps += 1
            self._changed.notify_all()

    def toggle(self) -> bool:
        """Pause or go on; returns whether it is paused now."""
        with self._changed:
            self._is_paused = not self._is_paused
            self._num_steps = 0
            self._changed.notify_all()
            return self._is_paused

    def free(self) -> None:
        """Let the run go on, so that it can end."""
        with self._changed:
            self._is_paused = False
            self._changed.notify_all()

    def wait(self) -> bool:
        """Until another pass may run; false if the visitor's patience with a pause is over."""
        with self._changed:
            if not self._changed.wait_for(self._may_run, self._patience_seconds):
                return False
            self._num_steps = max(0, self._num_steps - self._is_paused)
            return True

    def _may_run(self) -> bool:
        return not self._is_paused or self._num_steps > 0
