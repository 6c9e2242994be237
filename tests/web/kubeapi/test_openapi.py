"""The OpenAPI document of version 2 says what those of version 3 say."""

from typing import Any

import orjson

from kschedweb.kubeapi import openapi, openapi_v2

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
