"""Templates that differ in how quantities are written mean the same; nothing else that differs does."""

from __future__ import annotations

from typing import Any

from scheduler_core.api.schema.equality import mean_the_same
from tests.cases import cases


def template(memory: str = "1k", *, label: str = "1k", size: str | None = None, name: str = "c") -> dict[str, Any]:
    container = {"name": name, "resources": {"requests": {"memory": memory}}}
    volume = {"name": "v", "emptyDir": {"sizeLimit": size} if size else {}}
    return {"metadata": {"labels": {"requests": label}}, "spec": {"containers": [container], "volumes": [volume]}}


@cases(
    "other, is_same",
    ("nothing differs", template(), True),
    ("written otherwise", template("1e3"), True),
    ("another amount", template("1001"), False),
    ("a label is no quantity", template(label="1e3"), False),
    ("a limit more", template(size="1k"), False),
    ("another name", template(name="d"), False),
    ("no spec", {"metadata": template()["metadata"]}, False),
)
def test_templates(other: dict[str, Any], is_same: bool) -> None:
    assert mean_the_same(template(), other, "v1.PodTemplateSpec") is is_same
    assert mean_the_same(other, template(), "v1.PodTemplateSpec") is is_same


def test_limits_of_volumes_are_quantities() -> None:
    assert mean_the_same(template(size="1Mi"), template(size="1024Ki"), "v1.PodTemplateSpec")


def test_lists_of_other_lengths_differ() -> None:
    longer = template("1e3")
    longer["spec"]["containers"].append({"name": "d"})
    assert not mean_the_same(template(), longer, "v1.PodTemplateSpec")
