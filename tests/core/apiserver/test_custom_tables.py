"""Objects of kinds that a cluster defines are shown in the columns of their definition."""

from __future__ import annotations

from typing import Any

from tests.cases import cases
from tests.core.apiserver.asking import NOW
from tests.core.apiserver.custom_samples import definition, den, river, version
from tests.core.apiserver.customs import DEN_PATH, RIVER_PATH, made, new_server, send


def test_it_is_shown_in_the_columns_of_its_definition() -> None:
    server = new_server()
    made(server, DEN_PATH, den())
    body = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    send(server, "PATCH", f"{DEN_PATH}/deep/status", body)
    reply = send(server, "GET", DEN_PATH)
    assert reply.shown is not None and reply.page is not None
    table = reply.shown.table(reply.page.items, NOW)
    assert [one["name"] for one in table.columns] == ["Name", "Depth", "Mood", "Ready", "Age"]
    assert table.rows == [["deep", 2, "glad", "True", "0s"]]
    made(server, RIVER_PATH, river())
    reply = send(server, "GET", f"{RIVER_PATH}/long")
    assert reply.shown is not None
    table = reply.shown.table([reply.body], NOW)
    assert [one["name"] for one in table.columns] == ["Name", "Age"] and table.rows == [["long", "0s"]]


@cases(
    "kind, value, cell",
    ("a number", "integer", 3, 3),
    ("a number with a part", "integer", 2.7, 2),
    ("a number that is a text", "integer", "3", None),
    ("a number of any kind", "number", 2.5, 2.5),
    ("a truth", "boolean", True, True),
    ("a truth that is a text", "boolean", "true", None),
    ("a list", "string", [1, {"a": "b"}], '[1,{"a":"b"}]'),
    ("a time", "date", "2030-01-01T00:00:00Z", "0s"),
    ("a time that is none", "date", "noon", "<invalid>"),
    ("what is not there", "string", None, None),
)
def test_cells_are_of_the_type_of_their_column(kind: str, value: Any, cell: Any) -> None:
    column = {"name": "Water", "type": kind, "jsonPath": ".water", "priority": 1}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [version(schema=schema, additionalPrinterColumns=[column])]
    server = new_server(definition("rivers", "River", scope="Cluster", versions=versions))
    made(server, RIVER_PATH, river() if value is None else river(water=value))
    reply = send(server, "GET", f"{RIVER_PATH}/long")
    assert reply.shown is not None
    table = reply.shown.table([reply.body], NOW)
    assert table.rows == [["long", cell]] and table.columns[1]["priority"] == 1
