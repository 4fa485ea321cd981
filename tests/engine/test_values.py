"""What the engine and the metrics hand on are values: nobody can change them behind one's back."""

from __future__ import annotations

from dataclasses import is_dataclass

import pytest

from specdemo.engine import distribution, protocols, sampling
from specdemo.metrics import diagnosis, rounds, runs, theory

VALUES = [
    kind
    for module in (distribution, protocols, sampling, diagnosis, rounds, runs, theory)
    for kind in vars(module).values()
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_cannot_be_changed_nor_grow(kind: type) -> None:
    value = object.__new__(kind)
    name = next(iter(kind.__dataclass_fields__))  # type: ignore[attr-defined]
    for attribute in (name, "another"):
        # With slots an unknown name is refused in either way.
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, attribute, 1)
    assert not hasattr(value, "__dict__")
