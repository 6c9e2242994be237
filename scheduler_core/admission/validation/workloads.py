"""What is checked of controllers of pods that go on: sets and deployments.

Source: kubernetes v1.34.1, pkg/apis/{apps,batch,core}/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    forbidden,
    invalid,
    required,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.claims import claim_spec_problems
from scheduler_core.admission.validation.formats import not_negative
from scheduler_core.admission.validation.pod_annotations import pod_annotation_problems, profile_match_problems
from scheduler_core.admission.validation.pods import pod_spec_problems
from scheduler_core.api.manifests import convert
from scheduler_core.api.meta import LabelSelector
from scheduler_core.api.schema import internal_text, json_text
from scheduler_core.api.selectors import SelectorError, parse_label_selector, selects_map

_MANY_DIGITS: Final = 9
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for"
    " validation is '[0-9]+%')"
)
_NO_MATCH: Final = "`selector` does not match template `labels`"


def template_problems(path: str, template: Manifest) -> Iterator[Problem]:
    metadata = template["metadata"]
    yield from formats.labels(f"{path}.labels", metadata.get("labels"))
    yield from formats.annotation_problems(f"{path}.annotations", metadata.get("annotations"))
    spec = template["spec"]
    yield from pod_annotation_problems(f"{path}.annotations", metadata.get("annotations") or {}, spec)
    yield from pod_spec_problems(f"{path}.spec", spec, is_pod=False)
    yield from profile_match_problems(f"{path}.spec", spec, metadata.get("annotations") or {})
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def replication_controller_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if not spec.get("selector"):
        yield required("spec.selector")
    if spec.get("replicas") is None:
        yield required("spec.replicas")
    yield from not_negative("spec.replicas", spec.get("replicas"))
    template = spec.get("template")
    if template is None:
        yield required("spec.template")
        return
    labels = template["metadata"].get("labels")
    if spec.get("selector") and not selects_map(spec["selector"], labels or {}):
        yield invalid("spec.template.metadata.labels", labels, _NO_MATCH)
    yield from template_problems("spec.template", template)
    yield from _always_restarts("spec.template.spec", template["spec"], "ReplicationController")


def pod_template_problems(manifest: Manifest) -> Iterator[Problem]:
    yield from template_problems("template", manifest["template"])


def replica_set_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from not_negative("spec.replicas", spec.get("replicas"))
    yield from not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector_and_template(spec, "deployment")


def deployment_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    yield from not_negative("spec.replicas", spec.get("replicas"))
    yield from _selector_and_template(spec, "deployment")
    yield from _deployment_strategy(spec["strategy"])
    yield from not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= spec.get("minReadySeconds", 0):
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Manifest) -> Iterator[Problem]:
    path, kind, rolling = "spec.strategy", strategy.get("type", ""), strategy.get("rollingUpdate") or {}
    if kind == "Recreate":
        if "rollingUpdate" in strategy:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", detail)
    elif kind == "RollingUpdate":
        unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
        yield from count_or_percent(f"{path}.rollingUpdate.maxUnavailable", unavailable)
        yield from count_or_percent(f"{path}.rollingUpdate.maxSurge", surge)
        if not _amount(unavailable) and not _amount(surge):
            detail = "may not be 0 when `maxSurge` is 0"
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", unavailable, detail)
        yield from at_most_all(f"{path}.rollingUpdate.maxUnavailable", unavailable)
    else:
        shown = Shown(internal_text(strategy, "apps.DeploymentStrategy"))
        yield unsupported(path, shown, ("Recreate", "RollingUpdate"))


def daemon_set_problems(manifest: Manifest) -> Iterator[Problem]:
    spec = manifest["spec"]
    selector, template = spec.get("selector"), spec["template"]
    yield from formats.label_selector("spec.selector", selector)
    yield from matches_problems(selector, template)
    if selector is not None and not selector:
        yield invalid("spec.selector", Shown("{}"), "empty selector is invalid for daemonset")
    yield from template_problems("spec.template", template)
    yield from _always_restarts("spec.template.spec", template["spec"], "DaemonSet")
    yield from not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _daemon_strategy(spec["updateStrategy"])
    yield from not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_strategy(strategy: Manifest) -> Iterator[Problem]:
    path, kind = "spec.updateStrategy", strategy.get("type", "")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = Shown(internal_text(strategy, "apps.DaemonSetUpdateStrategy"))
        yield unsupported(path, shown, ("RollingUpdate", "OnDelete"))
        return
    rolling = strategy["rollingUpdate"]
    for field in ("maxUnavailable", "maxSurge"):
        yield from count_or_percent(f"{path}.rollingUpdate.{field}", rolling[field])
    for field in ("maxUnavailable", "maxSurge"):
        yield from at_most_all(f"{path}.rollingUpdate.{field}", rolling[field])
    unavailable, surge = _amount(rolling["maxUnavailable"]), _amount(rolling["maxSurge"])
    if unavailable and surge:
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.rollingUpdate.maxSurge", rolling["maxSurge"], detail)
    elif not unavailable and not surge:
        yield required(f"{path}.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0")


def stateful_set_problems(manifest: Manifest, *, is_new: bool = True) -> Iterator[Problem]:
    spec = manifest["spec"]
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_strategy(spec["updateStrategy"])
    retention = spec.get("persistentVolumeClaimRetentionPolicy", {})
    for field in ("whenDeleted", "whenScaled"):
        value = retention.get(field)
        if value not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            yield unsupported(at, value, ("Retain", "Delete"))
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            yield from claim_spec_problems(f"spec.volumeClaimTemplates[{index}].spec", claim["spec"])
    yield from not_negative("spec.replicas", spec.get("replicas"))
    yield from not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    if "ordinals" in spec:
        yield from not_negative("spec.ordinals.start", spec["ordinals"]["start"])
    name = spec.get("serviceName")
    if is_new and name:
        yield from formats.named("spec.serviceName", name, formats.label(name))
    selector, template = spec.get("selector"), spec["template"]
    yield from _selector(selector, "statefulset")
    claims = [{"name": one["metadata"]["name"], "persistentVolumeClaim": {"claimName": "claim"}}
              for one in spec.get("volumeClaimTemplates", ()) if one["metadata"].get("name")]  # fmt: skip
    names = {claim["name"] for claim in claims}
    pod_spec = {field: value for field, value in template["spec"].items() if field not in ("hostname", "subdomain")}
    volumes = [*claims, *(one for one in pod_spec.get("volumes", ()) if one["name"] not in names)]
    checked = {**template, "spec": {**pod_spec, "volumes": volumes} if volumes else pod_spec}
    yield from matches_problems(selector, checked)
    yield from template_problems("spec.template", checked)
    yield from formats.labels("spec.template.labels", template["metadata"].get("labels"))
    yield from formats.annotation_problems("spec.template.annotations", template["metadata"].get("annotations"))
    yield from _always_restarts("spec.template.spec", template["spec"], "StatefulSet")


def _stateful_strategy(strategy: Manifest) -> Iterator[Problem]:
    path, kind, rolling = "spec.updateStrategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            shown = Shown(internal_text(rolling, "apps.RollingUpdateStatefulSetStrategy"))
            yield invalid(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind == "RollingUpdate":
        if rolling is not None:
            yield from not_negative(f"{path}.rollingUpdate.partition", rolling.get("partition"))
    else:
        shown = Shown(internal_text(strategy, "apps.StatefulSetUpdateStrategy"))
        yield invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def _selector_and_template(spec: Manifest, kind: str) -> Iterator[Problem]:
    selector, template = spec.get("selector"), spec["template"]
    yield from _selector(selector, kind)
    if selector is not None and _parsed(selector) is None:
        yield invalid("spec.selector", Shown(json_text(selector, "meta.LabelSelector")), "invalid label selector")
        return
    yield from matches_problems(selector, template)
    yield from template_problems("spec.template", template)
    yield from _always_restarts("spec.template.spec", template["spec"], "ReplicaSet")


def _selector(selector: Manifest | None, kind: str) -> Iterator[Problem]:
    if selector is None:
        yield required("spec.selector")
        return
    yield from formats.label_selector("spec.selector", selector)
    if not selector:
        yield invalid("spec.selector", Shown("{}"), f"empty selector is invalid for {kind}")


def matches_problems(selector: Manifest | None, template: Manifest) -> Iterator[Problem]:
    """An absent selector selects nothing, an empty one everything."""
    labels = template["metadata"].get("labels")
    parsed = _parsed(selector)
    if parsed is None:
        return
    if not parsed.matches(labels or {}):
        shown = Shown(json_text(labels, "{}string")) if labels else Shown("null")
        yield invalid("spec.template.metadata.labels", shown, _NO_MATCH)


def _parsed(selector: Manifest | None) -> Any:
    try:
        return parse_label_selector(convert(selector, LabelSelector) if selector is not None else None)
    except SelectorError:
        return None


def _always_restarts(path: str, spec: Manifest, kind: str) -> Iterator[Problem]:
    if spec.get("restartPolicy") != "Always":
        yield unsupported(f"{path}.restartPolicy", spec.get("restartPolicy", ""), ("Always",))
    if "activeDeadlineSeconds" in spec:
        yield forbidden(f"{path}.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported")


def count_or_percent(path: str, value: int | str) -> Iterator[Problem]:
    if isinstance(value, int):
        yield from not_negative(path, value)
    elif not _PERCENT.fullmatch(value):
        yield invalid(path, value, _PERCENT_TEXT)


def at_most_all(path: str, value: int | str) -> Iterator[Problem]:
    if isinstance(value, str) and _amount(value) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def _amount(value: int | str) -> int:
    """A count, or a percentage as far as its first digits go: Python reads no number of thousands of them."""
    if isinstance(value, int):
        return value
    return int(value[:-1].lstrip("0")[:_MANY_DIGITS] or 0) if _PERCENT.fullmatch(value) else 0
