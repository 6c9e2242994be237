"""Tables of cases, whose rows begin with what each is called."""

from __future__ import annotations

from typing import Any

import pytest


def cases(names: str, *rows: tuple[Any, ...]) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize` for rows of an id and the values: `@cases("text, want", ("empty", "", 0), ...)`."""
    return pytest.mark.parametrize(names, [pytest.param(*values, id=case) for case, *values in rows])
