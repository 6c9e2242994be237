"""Fields that there are not, and fields that stand twice, are told in the order of the body."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.bodies import read_as, read_json
from scheduler_core.apiserver.replies import RefusedError
from tests.cases import cases

UNKNOWN, REPEATED = 'unknown field "spec.bogus"', 'duplicate field "spec.nodeName"'


@cases(
    "spec, told",
    ("unknown first", '"bogus": 1, "nodeName": "a", "nodeName": "b"', [UNKNOWN, REPEATED]),
    ("repeated first", '"nodeName": "a", "nodeName": "b", "bogus": 1', [REPEATED, UNKNOWN]),
    ("repeated after it", '"nodeName": "a", "bogus": 1, "nodeName": "b"', [UNKNOWN, REPEATED]),
    ("in a list", '"containers": [{"name": "c", "name": "d", "x": 1}], "bogus": 1',
     ['duplicate field "spec.containers[0].name"', 'unknown field "spec.containers[0].x"', UNKNOWN]),
    ("only repeated", '"nodeName": "a", "nodeName": "b"', [REPEATED]),
    ("only unknown", '"bogus": 1', [UNKNOWN]),
)  # fmt: skip
def test_odd_fields_are_told_in_the_order_of_the_body(spec: str, told: list[str]) -> None:
    body = read_json(f'{{"metadata": {{"name": "p"}}, "spec": {{{spec}}}}}')
    assert read_as(body, "v1", "Pod", "Warn")[1] == told
    with pytest.raises(RefusedError) as refused:
        read_as(body, "v1", "Pod", "Strict")
    assert str(refused.value).endswith(f"strict decoding error: {', '.join(told)}")
