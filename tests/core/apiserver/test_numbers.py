"""Numbers that clients send, as the API server reads them: none that Python would take or choke on besides."""

from __future__ import annotations

import pytest

from scheduler_core.apiserver.numbers import NumberError, parse_int, parse_uint
from scheduler_core.apiserver.requests import PatchType
from tests.cases import cases
from tests.core.apiserver.samples import OBJECTS, path_of
from tests.core.apiserver.test_apply import Asking

PODS = "/api/v1/namespaces/default/pods"
LONG = "9" * 5_000
ODD = [
    ("no number", "x", "invalid syntax"),
    ("a digit that is no decimal", "²", "invalid syntax"),
    ("a decimal of another script", "٣", "invalid syntax"),
    ("an underscore", "1_0", "invalid syntax"),
    ("a space", " 1", "invalid syntax"),
    ("more digits than Python reads", LONG, "value out of range"),
]


@pytest.fixture
def clients() -> Asking:
    return Asking()


@cases("text, problem", *ODD)
@cases(
    "query, function, code",
    ("limit", {"limit": ""}, "ParseInt", 400),
    ("version of a list", {"resourceVersion": ""}, "ParseUint", 400),
    ("version of a watch", {"watch": "1", "resourceVersion": ""}, "ParseUint", 500),
    ("time of a watch", {"watch": "1", "timeoutSeconds": ""}, "ParseInt", 400),
)
def test_queries_say_what_is_no_number(
    clients: Asking, query: dict[str, str], function: str, code: int, text: str, problem: str
) -> None:
    reply = clients.ask("GET", PODS, **{name: value or text for name, value in query.items()})
    assert (reply.code, reply.body["message"].endswith(f'strconv.{function}: parsing "{text}": {problem}')) == (
        code,
        True,
    )


@cases("text, problem", *ODD)
def test_versions_and_grace_periods_say_it_too(clients: Asking, text: str, problem: str) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "resourceVersion": text}}
    path = path_of("ConfigMap")
    assert clients.ask("POST", path, config).code == 201  # what is no version is passed over in a new object
    for reply in (
        clients.ask("PUT", f"{path}/c", config),
        clients.ask("PATCH", f"{path}/c", {"metadata": {"resourceVersion": text}}),
    ):
        assert (reply.code, reply.body["message"]) == (500, f'strconv.ParseUint: parsing "{text}": {problem}')
    reply = clients.ask("GET", f"{path}/c", resourceVersion=text)
    assert (reply.code, problem in reply.body["message"]) == (500, True)
    reply = clients.ask("DELETE", f"{path}/c", gracePeriodSeconds=text)
    assert (reply.code, reply.body["message"]) == (400, f'strconv.ParseInt: parsing "{text}": {problem}')


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("-3", -3), ("+3", 3), (str(-(1 << 63)), -(1 << 63)), (str((1 << 63) - 1), (1 << 63) - 1)],
)
def test_signed_numbers_are_read(text: str, number: int) -> None:
    assert parse_int(text) == number


def test_range_ends_at_64_bits() -> None:
    assert parse_uint("0" * 5_000 + str((1 << 64) - 1)) == (1 << 64) - 1
    for parse, text in ((parse_uint, str(1 << 64)), (parse_int, str(1 << 63)), (parse_int, str(-(1 << 63) - 1))):
        with pytest.raises(NumberError, match="value out of range"):
            parse(text)
    for parse, text in ((parse_uint, "-1"), (parse_uint, "+1"), (parse_uint, ""), (parse_int, ""), (parse_int, "-")):
        with pytest.raises(NumberError, match="invalid syntax"):
            parse(text)


@pytest.mark.parametrize("text", ["x", "²", LONG])
def test_generation_of_a_template_that_is_no_number_counts_as_none(clients: Asking, text: str) -> None:
    path, key = path_of("DaemonSet"), "deprecated.daemonset.template.generation"
    made = clients.ask("POST", path, {"metadata": {"name": "d", "annotations": {key: text}}, **OBJECTS["DaemonSet"]})
    assert (made.code, made.body["metadata"]["annotations"][key]) == (201, "1")


@pytest.mark.parametrize("text", ["x", "²", LONG, "2147483648", "01"])
def test_deletion_cost_that_is_no_number_of_32_bits_is_refused(clients: Asking, text: str) -> None:
    key = "controller.kubernetes.io/pod-deletion-cost"
    reply = clients.ask("POST", PODS, {"metadata": {"name": "p", "annotations": {key: text}}, **OBJECTS["Pod"]})
    assert (reply.code, f"metadata.annotations[{key}]" in reply.body["message"]) == (422, True)


def test_path_of_a_patch_that_is_no_place_of_a_list_is_refused(clients: Asking) -> None:
    clients.ask("POST", PODS, {"metadata": {"name": "p"}, **OBJECTS["Pod"]})
    patch = [{"op": "replace", "path": "/spec/containers/²/image", "value": "i"}]
    assert clients.ask("PATCH", f"{PODS}/p", patch, PatchType.JSON).code == 422
