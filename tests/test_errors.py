from __future__ import annotations

from specdemo import errors


def test_every_error_is_the_users_to_mend_and_stands_in_the_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, errors.SpecdemoError) for kind in kinds)
    assert all(kind.__name__ in (errors.__doc__ or "") for kind in kinds)
