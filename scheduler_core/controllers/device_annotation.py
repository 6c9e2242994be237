"""The devices of a simulated node, as an annotation of the node says.

    kschedweb.io/devices: |
      - driver: gpu.example.com
        pool: node-1-gpus              # left out: the node's name
        devices:
        - count: 4                     # left out: 1
          name: gpu                    # gpu-0 to gpu-3; left out: device
          attributes: {model: a100, cores: 108, ecc: true, driverVersion: {version: 1.2.3}}
          capacity: {memory: 40Gi}

YAML or JSON; a single driver need not be in a list. Devices of one driver and name are numbered on. An attribute is
text, a whole number or a truth value, or one of these under the name of its type: string, int, bool, version.
What cannot be read is a ManifestError whose path begins with the annotation's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.admission.context import Problem
from scheduler_core.admission.validation.devices import resource_slice_problems
from scheduler_core.api import quantity
from scheduler_core.api.yaml_text import YamlBounds, read_documents
from scheduler_core.errors import ManifestError, YamlError

DEVICES: Final = "kschedweb.io/devices"
MOST_OF_A_NODE: Final = 4096
_BOUNDS: Final = YamlBounds(depth=12, values=50_000, alias_values=10_000)
_TYPES: Final = ("string", "int", "bool", "version")


@dataclass(frozen=True, slots=True)
class DevicePool:
    """The devices of one driver on a node, as ResourceSlices name them."""

    driver: str
    name: str
    devices: tuple[dict[str, Any], ...]


def read_pools(text: str, node_name: str) -> list[DevicePool]:
    """Return what the annotation's text says of a node; ManifestError."""
    path = f"metadata.annotations[{DEVICES}]"
    try:
        documents = [value for _, value in read_documents(text.encode(), _BOUNDS) if value is not None]
    except YamlError as error:
        raise ManifestError(path, str(error)) from None
    if len(documents) > 1:
        raise ManifestError(path, "must be one document")
    drivers = documents[0] if documents else []
    if not isinstance(drivers, list):
        drivers, entries = [drivers], [path]
    else:
        entries = [f"{path}[{index}]" for index in range(len(drivers))]
    pools: dict[tuple[str, str], DevicePool] = {}
    for entry, driver in zip(entries, drivers, strict=True):
        pool = _pool(entry, driver, node_name)
        if (pool.driver, pool.name) in pools:
            raise ManifestError(entry, f"driver {pool.driver} and pool {pool.name} are there already")
        pools[pool.driver, pool.name] = pool
    if sum(len(pool.devices) for pool in pools.values()) > MOST_OF_A_NODE:
        raise ManifestError(path, f"must not have more than {MOST_OF_A_NODE} devices")
    return list(pools.values())


def _pool(path: str, given: Any, node_name: str) -> DevicePool:
    fields = _mapping(path, given, ("driver", "pool", "devices"))
    driver = _text(f"{path}.driver", fields.get("driver"))
    name = _text(f"{path}.pool", fields.get("pool", node_name))
    _refuse(
        resource_slice_problems(_slice(driver, name)),
        {"spec.driver": f"{path}.driver", "spec.pool.name": f"{path}.pool"},
    )
    devices: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    groups = fields.get("devices")
    if not isinstance(groups, Sequence) or isinstance(groups, str):
        raise ManifestError(f"{path}.devices", "must be a list")
    for index, group in enumerate(groups):
        devices += _devices(f"{path}.devices[{index}]", group, numbers)
    return DevicePool(driver, name, tuple(devices))


def _devices(path: str, given: Any, numbers: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The devices of one group; `numbers` are those that follow, by name."""
    fields = _mapping(path, given, ("count", "name", "attributes", "capacity"))
    count = fields.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_OF_A_NODE:
        raise ManifestError(f"{path}.count", f"must be a whole number from 1 to {MOST_OF_A_NODE}")
    name = _text(f"{path}.name", fields.get("name", "device"))
    attributes = _mapping(f"{path}.attributes", fields.get("attributes", {}))
    capacity = _mapping(f"{path}.capacity", fields.get("capacity", {}))
    described = {
        "attributes": {key: _attribute(f"{path}.attributes[{key}]", value) for key, value in attributes.items()},
        "capacity": {key: {"value": _quantity(f"{path}.capacity[{key}]", value)} for key, value in capacity.items()},
    }
    described = {field: value for field, value in described.items() if value}
    first = numbers.get(name, 0)
    numbers[name] = first + count
    last = {"name": f"{name}-{first + count - 1}", **described}
    _refuse(resource_slice_problems(_slice("d", "p", last)), {"spec.devices[0]": path})
    for number in range(first, first + count):
        yield {"name": f"{name}-{number}", **described}


def _attribute(path: str, value: Any) -> dict[str, Any]:
    """The attribute as slices have it: under the name of its type."""
    if isinstance(value, Mapping):
        if len(value) != 1 or next(iter(value)) not in _TYPES:
            raise ManifestError(path, f"must be one value under the name of its type: {', '.join(_TYPES)}")
        ((kind, inner),) = value.items()
        found = next(iter(_attribute(path, inner))) if not isinstance(inner, Mapping) else ""
        if found != ("string" if kind == "version" else kind):
            raise ManifestError(f"{path}.{kind}", "has a value of another type")
        return {kind: inner}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return {"int": value}
    if isinstance(value, str):
        return {"string": value}
    raise ManifestError(path, "must be text, a whole number or a truth value")


def _quantity(path: str, value: Any) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            return str(quantity.parse(value))
        except ValueError:
            pass
    raise ManifestError(path, "must be a quantity")


def _mapping(path: str, given: Any, known: Sequence[str] = ()) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ManifestError(path, "must be a mapping")
    for key in given:
        if known and key not in known:
            raise ManifestError(f"{path}.{key}", f"is not known; there are {', '.join(known)}")
    return given


def _text(path: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ManifestError(path, "must be text")
    return value


def _slice(driver: str, pool: str, *devices: dict[str, Any]) -> dict[str, Any]:
    """A slice to check against the API server's rules."""
    described = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    return {"spec": {"driver": driver, "pool": described, "nodeName": "n", "devices": list(devices)}}


def _refuse(problems: Iterator[Problem], places: Mapping[str, str]) -> None:
    """Raise the first problem, at the place of the annotation that its field was made from."""
    for problem in problems:
        for field, place in places.items():
            if problem.path.startswith(field):
                raise ManifestError(place + problem.path.removeprefix(field), problem.detail)
