"""The OpenAPI document of version 2 says what those of version 3 say, in JSON and in protobuf."""

from typing import Any

import orjson

from kschedweb.kubeapi import openapi, openapi_v2, wire

Json = dict[str, Any]


def made() -> Json:
    return dict(orjson.loads(openapi_v2.document()[0]))


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*(references(item) for item in value.values()))
    return set().union(*(references(item) for item in value)) if isinstance(value, list) else set()


def test_every_reference_leads_somewhere() -> None:
    document = made()
    assert document["swagger"] == "2.0"
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert references(document) <= known


def test_fields_are_those_of_version_3() -> None:
    definitions = made()["definitions"]
    of_core = orjson.loads(openapi.document("")[0])["components"]["schemas"]
    for name, schema in of_core.items():
        assert definitions[name].get("properties", {}).keys() == schema.get("properties", {}).keys()
        assert definitions[name].get("required") == schema.get("required")
    spec = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["nodeSelector"]["additionalProperties"] == {"type": "string"}
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["affinity"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Affinity"}
    assert "default" in definitions["io.k8s.api.core.v1.LimitRangeItem"]["properties"]
    quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity == {"type": "string"}


def test_operations_have_their_body_among_the_parameters() -> None:
    paths = made()["paths"]
    create = paths["/api/v1/namespaces/{namespace}/pods"]["post"]
    body = next(one for one in create["parameters"] if one["in"] == "body")
    assert body["schema"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}
    assert [one["name"] for one in create["parameters"] if one["in"] == "path"] == ["namespace"]
    patch = paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in patch["consumes"]
    assert "application/vnd.kubernetes.protobuf" in create["consumes"]


def message(content: bytes) -> dict[int, list[Any]]:
    """The fields of a message by number."""
    wire.begin()
    found: dict[int, list[Any]] = {}
    for number, _, value in wire.fields(content, "test"):
        found.setdefault(number, []).append(value)
    return found


def named(content: bytes, number: int) -> dict[str, dict[int, list[Any]]]:
    pairs = (message(one) for one in message(content)[number])
    return {pair[1][0].decode(): message(pair[2][0]) for pair in pairs}


def test_the_document_in_protobuf_says_what_the_one_in_json_says() -> None:
    wanted, document = made(), message(openapi_v2.in_protobuf()[0])
    assert document[1] == [b"2.0"] and message(document[2][0]) == {1: [b"Kubernetes"], 2: [b"v1.34.1"]}
    schemas = named(document[9][0], 1)
    assert schemas.keys() == wanted["definitions"].keys()
    spec = schemas["io.k8s.api.core.v1.PodSpec"]
    fields = named(spec[25][0], 1)
    assert fields.keys() == wanted["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"].keys()
    assert spec[19] == [b"containers"] and message(spec[22][0]) == {1: [b"object"]}
    containers = fields["containers"]
    assert message(containers[22][0]) == {1: [b"array"]}
    assert message(message(containers[23][0])[1][0]) == {1: [b"#/definitions/io.k8s.api.core.v1.Container"]}
    extensions = {message(one)[1][0]: message(message(one)[2][0])[2][0] for one in containers[31]}
    assert extensions[b"x-kubernetes-patch-merge-key"] == b'"name"'
    selector = fields["nodeSelector"]
    assert message(message(message(selector[21][0])[1][0])[22][0]) == {1: [b"string"]}
    paths = named(document[8][0], 2)
    assert paths.keys() == wanted["paths"].keys()
    patch = message(paths["/api/v1/namespaces/{namespace}/pods/{name}"][8][0])
    parameters = [message(message(one)[1][0]) for one in patch[8]]
    bodies = [message(one[1][0]) for one in parameters if 1 in one]
    assert [(one[2], one[3], one[4]) for one in bodies] == [([b"body"], [b"body"], [1])]
    queries = [message(message(one[2][0])[3][0]) for one in parameters if 2 in one and 3 in message(one[2][0])]
    assert b"dryRun" in [one[4][0] for one in queries] and {one[2][0] for one in queries} == {b"query"}
    assert all(one[6] == [b"string"] for one in queries if one[4] == [b"dryRun"])
