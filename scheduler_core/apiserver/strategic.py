"""Strategic merge patches: maps are merged, and lists of maps by a key where the API server has one for the field.

Which lists are merged, and by which key, is said by the schema. Directives: `$patch: delete | replace`,
`$deleteFromPrimitiveList/…`, `$setElementOrder/…` and `$retainKeys`. Nothing given is changed.

Source: kubernetes v1.34.1, staging/src/k8s.io/apimachinery/pkg/util/strategicpatch and pkg/runtime/converter.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.api.schema import SCALARS, Field, Type, type_named, type_of

_REPLACED: Final = frozenset({("policy.PodDisruptionBudgetSpec", "selector")})  # maps that are not merged
_DELETE_PRIMITIVES: Final = "$deleteFromPrimitiveList/"
_SET_ORDER: Final = "$setElementOrder/"
_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_BAD_RETAIN: Final = "invalid patch format of retainKeys"
_GO_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (dict, "map"), (list, "slice"), (str, "string"), (bool, "bool"), (int, "int64"), (float, "float64"),
)  # fmt: skip
_REASONS: Final = {400: "BadRequest", 413: "RequestEntityTooLarge", 422: "Invalid"}
Map = dict[str, Any]


class PatchError(Exception):
    """The patch cannot be read, or does not fit the object; `code` as the API server answers."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def reason(self) -> str:
        return _REASONS.get(self.code, "")


def strategically_merged(manifest: Mapping[str, Any], patch: Mapping[str, Any]) -> Map:
    """The manifest with the patch laid over it; raises PatchError."""
    return _merged(dict(manifest), patch, manifest_type(manifest))


def manifest_type(manifest: Mapping[str, Any]) -> Type | None:
    """The type of a manifest's fields, None where its kind has none in the schema."""
    try:
        return type_of(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    except KeyError:
        return None


def misfit(value: Any, holder: Type, before: Any = None) -> str:
    """What in a patched object is not of its field's type, in the API server's words; empty when all fits.

    What is still the same thing as in `before` fits. Texts that have a form of their own, such as quantities, are not
    looked at.
    """
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_go_kind(value)}"
    known = before if isinstance(before, dict) else {}
    for name, field in holder.fields.items():
        given = value.get(name)
        if given is not None and given is not known.get(name):
            problem = _misfit(given, field.shape, field, known.get(name))
            if problem:
                return problem
    return ""


def _misfit(value: Any, shape: str, field: Field, before: Any = None) -> str:
    if value is None or (shape == "string" and type(value) is str):  # most are
        return ""
    if shape.startswith("[]"):
        if not isinstance(value, list):
            return f"cannot restore slice from {_go_kind(value)}"
        return next(filter(None, (_misfit(item, shape[2:], field) for item in value)), "")
    if shape.startswith("{}"):
        if not isinstance(value, dict):
            return f"cannot restore map from {_go_kind(value)}"
        return next(filter(None, (_misfit(item, shape[2:], field) for item in value.values())), "")
    if shape not in SCALARS:
        return misfit(value, type_named(shape), before)
    return _scalar_misfit(value, shape, field.go_name.removeprefix("[]").removeprefix("map[string]"))


def _scalar_misfit(value: Any, shape: str, go_name: str) -> str:
    kind = _go_kind(value)
    if shape == "string":
        return "" if kind == "string" else _inconvertible(kind, go_name, shape, kind == "int64")
    if shape == "bool":
        return "" if kind == "bool" else _inconvertible(kind, go_name, shape, False)
    if shape in ("int32", "int64"):
        fits = kind == "int64" or (kind == "float64" and value == int(value))
        return "" if fits else _inconvertible(kind, go_name, shape, kind == "float64")
    return ""


def _inconvertible(kind: str, go_name: str, shape: str, is_near: bool) -> str:
    return f"cannot convert {kind} to {go_name}" if is_near else f"unrecognized type: {shape}"


def _go_kind(value: Any) -> str:
    return next((kind for types, kind in _GO_KINDS if isinstance(value, types)), "invalid")


def _merged(original: Map, patch: Mapping[str, Any], holder: Type | None) -> Map:
    if _DIRECTIVE in patch:
        if patch[_DIRECTIVE] == "replace":
            return {key: value for key, value in patch.items() if key != _DIRECTIVE}
        if patch[_DIRECTIVE] == "delete":
            return {}
        raise PatchError(500, f"unknown patch type: {patch[_DIRECTIVE]} in map: {go_map(patch)}")
    result, rest = dict(original), dict(patch)
    if _RETAIN in rest:
        _retain(result, rest)
    for key in [key for key in rest if key.startswith(_SET_ORDER)]:
        _set_order(result, rest, key, holder)
    for key, value in rest.items():
        is_deletion = key.startswith(_DELETE_PRIMITIVES)
        _lay(result, key.removeprefix(_DELETE_PRIMITIVES), value, holder, is_deletion=is_deletion)
    return result


def _lay(result: Map, key: str, value: Any, holder: Type | None, *, is_deletion: bool) -> None:
    """One member of a patch laid over the map, in place; `is_deletion`: its items are taken out of the list."""
    if value is None:
        result.pop(key, None)
        return
    field = holder.fields.get(key) if holder is not None else None
    if key not in result or _go_kind(result[key]) != _go_kind(value):
        if not is_deletion:
            result[key] = _bare(value)
            if result[key] is None:
                del result[key]
    elif isinstance(value, dict) and holder is not None and (holder.name, key) in _REPLACED:
        result[key] = _bare(value)
    elif isinstance(value, dict):
        result[key] = _merged(result[key], value, _held(field))
    elif not isinstance(value, list):
        result[key] = value
    elif is_deletion:
        result[key] = [item for item in result[key] if item not in value]
    elif field is not None and field.is_merged:
        result[key] = _merged_list(result[key], value, field)
    else:
        result[key] = value


def _held(field: Field | None) -> Type | None:
    """The type of the maps that a field holds: itself, or its items."""
    shape = field.shape if field is not None else "string"
    while shape.startswith(("[]", "{}")):
        shape = shape[2:]
    return None if shape in SCALARS else type_named(shape)


def _bare(value: Any) -> Any:
    """What a patch brings that was not there: without nulls and directives. None when it only deletes."""
    if isinstance(value, dict):
        if value.get(_DIRECTIVE) == "delete":
            return None
        bare = {key: _bare(one) for key, one in value.items() if not _is_directive(key)}
        return {key: one for key, one in bare.items() if one is not None}
    if isinstance(value, list):
        return [one for one in map(_bare, value) if one is not None]
    return value


def _is_directive(key: str) -> bool:
    return key in (_DIRECTIVE, _RETAIN) or key.startswith((_SET_ORDER, _DELETE_PRIMITIVES))


def _retain(result: Map, patch: Map) -> None:
    """Drop from both what the patch does not list to be kept, in place."""
    kept = patch.pop(_RETAIN)
    if not isinstance(kept, list):
        raise PatchError(400, _BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and not key.startswith((_SET_ORDER, _DELETE_PRIMITIVES)) and key not in kept:
            raise PatchError(400, _BAD_RETAIN)
    for key in [key for key in result if key not in kept]:
        del result[key]


def _set_order(result: Map, patch: Map, directive: str, holder: Type | None) -> None:
    """Merge a list whose order the patch prescribes, in place; the list is taken out of the patch."""
    wanted, key = patch.pop(directive), directive.removeprefix(_SET_ORDER)
    field = holder.fields.get(key) if holder is not None else None
    before, items = result.get(key), patch.get(key)
    for one in (wanted, before, items):
        if one is not None and not isinstance(one, list):
            raise PatchError(500, f"expected a slice, but received a {_go_kind(one)}")
    if field is None or wanted is None or (before is None and items is None):
        return
    identity = _identity(field.merge_key)
    order = list(map(identity, wanted))
    if not _is_subsequence([identity(item) for item in items or () if not _is_marked(item)], order):
        raise PatchError(400, _BAD_ORDER)
    merged: list[Any] = before or []
    if items is not None:
        merged = _bare(items) if before is None else _merged_list(before, items, field) if field.is_merged else items
    result[key] = interleaved(merged, order, before or [], identity)
    patch.pop(key, None)


def _is_subsequence(items: Sequence[Any], order: Sequence[Any]) -> bool:
    rest: Iterator[Any] = iter(order)
    return all(any(item == one for one in rest) for item in items)


def _is_marked(item: Any) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item


def _identity(merge_key: str) -> Callable[[Any], Any]:
    """What tells the items of a list apart."""

    def of(item: Any) -> Any:
        told = item.get(merge_key) if merge_key and isinstance(item, dict) else item
        return go_map(told) if isinstance(told, (dict, list)) else told

    return of


def _merged_list(original: list[Any], patch: list[Any], field: Field) -> list[Any]:
    kinds = {_go_kind(item) for item in (*original, *patch)}
    if "slice" in kinds:
        raise PatchError(422, "lists of lists are not supported")
    if len(kinds) > 1:
        raise PatchError(500, f"list element types are not identical: {', '.join(sorted(kinds))}")
    identity = _identity(field.merge_key)
    if kinds != {"map"}:
        merged = list(dict.fromkeys((*original, *patch)))
        return interleaved(merged, patch, original, identity)
    original, patch = _without_marked(original, patch, field.merge_key)
    merged = list(original)
    for item in patch:
        if field.merge_key not in item:
            raise _no_key(item, field.merge_key)
        place = next((n for n, one in enumerate(merged) if identity(one) == identity(item)), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = _merged(merged[place], item, _held(field))
    return interleaved(merged, list(map(identity, patch)), original, identity)


def _without_marked(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """The list without what the patch deletes from it, and the patch without directives."""
    plain = [item for item in patch if _DIRECTIVE not in item]
    replaces = False
    for item in patch:
        directive = item.get(_DIRECTIVE)
        if directive == "delete":
            if merge_key not in item:
                raise _no_key(item, merge_key)
            original = [one for one in original if one.get(merge_key) != item[merge_key]]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise PatchError(500, "merging lists cannot yet be specified in the patch")
        elif directive is not None:
            raise PatchError(500, f"unknown patch type: {directive} in map: {go_map(item)}")
    return (plain, []) if replaces else (original, plain)


def _no_key(item: Mapping[str, Any], merge_key: str) -> PatchError:
    return PatchError(500, f"map: {go_map(item)} does not contain declared merge key: {merge_key}")


def interleaved(
    merged: Sequence[Any], order: Sequence[Any], before: Sequence[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Items of the patch in its `order`, among the others in theirs; who stood before whom decides where it can."""
    places: dict[Any, int] = {}
    for number, item in enumerate(before):
        places.setdefault(identity(item), number)
    ranks: dict[Any, int] = {}
    for number, one in enumerate(order):
        ranks.setdefault(one, number)
    ours = sorted((item for item in merged if identity(item) in ranks), key=lambda item: ranks[identity(item)])
    others = sorted(
        (item for item in merged if identity(item) not in ranks),
        key=lambda item: places.get(identity(item), len(places)),
    )
    result: list[Any] = []
    while others and ours:
        here, there = places.get(identity(others[0])), places.get(identity(ours[0]))
        first = others if here is not None and there is not None and here < there else ours
        result.append(first.pop(0))
    return [*result, *others, *ours]


def go_map(value: Any) -> str:
    """A map as Go prints it, which messages contain."""
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{go_map(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_map, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
