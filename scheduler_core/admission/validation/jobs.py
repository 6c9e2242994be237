"""What is checked of jobs.

Source: kubernetes v1.34.1, pkg/apis/batch/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.admission.context import (
    OMITTED,
    Manifest,
    Problem,
    Shown,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import not_negative
from scheduler_core.admission.validation.workloads import matches_problems, template_problems
from scheduler_core.api.go_values import quoted
from scheduler_core.api.schema import internal_text, json_text

_LONGEST_MANAGER: Final = 63
_LONGEST_INDEXES: Final = 64 * 1024
_MOST_RULES: Final = 20
_MOST_DIGITS: Final = 18
_MANY, _FEW = 100_000, 10_000


def job_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of a job as a whole; `job_spec_problems` is looked at once more when it changes."""
    yield from _generated_selector(manifest)
    yield from job_spec_problems(manifest)
    spec, name = manifest["spec"], manifest["metadata"].get("name", "")
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        host = f"{name}-{spec['completions'] - 1}"
        if formats.label(host):
            yield invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {host}")


def job_spec_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of a job's spec with the selector that it has by then."""
    yield from plain_spec_problems(manifest)
    template, selector = manifest["spec"]["template"], manifest["spec"].get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from formats.label_selector("spec.selector", selector)
    yield from matches_problems(selector, template)


def plain_spec_problems(manifest: Manifest) -> Iterator[Problem]:
    """Of the part of a job's spec that templates of jobs have too."""
    spec = manifest["spec"]
    template = spec["template"]
    for field in (
        "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    ):  # fmt: skip
        yield from not_negative(f"spec.{field}", spec.get(field))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        yield from formats.domain_prefixed("spec.managedBy", spec["managedBy"])
        if len(spec["managedBy"]) > _LONGEST_MANAGER:
            yield too_long("spec.managedBy", _LONGEST_MANAGER)
    yield from _completion(spec)
    yield from _failure_policy(spec)
    yield from _success_policy(spec)
    yield from _replacement_policy(spec)
    yield from template_problems("spec.template", template)
    restart = template["spec"].get("restartPolicy", "")
    if restart in ("", "Always"):
        yield required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif restart not in ("OnFailure", "Never"):
        yield unsupported("spec.template.spec.restartPolicy", restart, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and restart != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid("spec.template.spec.restartPolicy", restart, detail)


def _generated_selector(manifest: Manifest) -> Iterator[Problem]:
    """A job makes its own selector, or brings one and says so."""
    spec, metadata = manifest["spec"], manifest["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = spec["template"]["metadata"].get("labels", {})
    for label, want in (
        ("controller-uid", metadata["uid"]),
        ("batch.kubernetes.io/controller-uid", metadata["uid"]),
        ("job-name", metadata.get("name", "")),
        ("batch.kubernetes.io/job-name", metadata.get("name", "")),
    ):
        if labels.get(label) != want:
            yield invalid("spec.template.metadata.labels", Shown(json_text(labels, "{}string")), f"must be '{want}'")
    expected = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}
    if selector != expected:
        yield invalid(
            "spec.selector", Shown(json_text(selector, "meta.LabelSelector")), "`selector` not auto-generated"
        )


def _completion(spec: Manifest) -> Iterator[Problem]:
    mode, parallelism, completions = spec.get("completionMode"), spec.get("parallelism"), spec.get("completions")
    failed = spec.get("maxFailedIndexes")
    if mode not in (None, "NonIndexed", "Indexed"):
        yield unsupported("spec.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if completions is None:
            yield required("spec.completions", "when completion mode is Indexed")
        if parallelism is not None and parallelism > 100000:
            detail = "must be less than or equal to 100000 when completion mode is Indexed"
            yield invalid("spec.parallelism", parallelism, detail)
        if completions is not None and failed is not None and failed > completions:
            yield invalid("spec.maxFailedIndexes", failed, "must be less than or equal to completions")
        if failed is not None and failed > 100000:
            yield invalid("spec.maxFailedIndexes", failed, "must be less than or equal to 100000")
        yield from _many_completions(spec)
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                yield invalid(f"spec.{field}", spec[field], "requires indexed completion mode")


def _many_completions(spec: Manifest) -> Iterator[Problem]:
    """Of an indexed job of very many pods with retries of each index."""
    if spec.get("completions", 0) <= _MANY or "backoffLimitPerIndex" not in spec:
        return
    if "maxFailedIndexes" not in spec:
        yield required("spec.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    for field in ("parallelism", "maxFailedIndexes"):
        if spec.get(field, 0) > _FEW:
            detail = f"must be less than or equal to {_FEW} when completions are above {_MANY} and used with backoff"
            yield invalid(f"spec.{field}", spec[field], f"{detail} limit per index")


def _success_policy(spec: Manifest) -> Iterator[Problem]:
    policy, path = spec.get("successPolicy"), "spec.successPolicy"
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(path, Shown(internal_text(policy, "batch.SuccessPolicy")), "requires indexed completion mode")
        return
    rules = policy["rules"] or []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", detail)
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _success_rule(f"{path}.rules[{index}]", rule, spec.get("completions", 0))


def _success_rule(path: str, rule: Manifest, completions: int) -> Iterator[Problem]:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if len(indexes) > _LONGEST_INDEXES:
            yield too_long(at, _LONGEST_INDEXES)
        total, problem = counted_indexes(indexes, completions)
        if problem:
            yield invalid(at, indexes, f"error parsing succeededIndexes: {problem}")
    if count is None:
        return
    at, detail = f"{path}.succeededCount", "must be less than or equal to"
    yield from not_negative(at, count)
    if count > completions:
        yield invalid(at, count, f"{detail} {completions} (the number of specified completions)")
    if indexes is not None and count > total:
        words = "(the number of indexes in the specified succeededIndexes field)"
        yield invalid(at, count, f"{detail} {total} {words}")


def _failure_policy(spec: Manifest) -> Iterator[Problem]:
    policy, path = spec.get("podFailurePolicy"), "spec.podFailurePolicy.rules"
    if policy is None:
        return
    rules = policy["rules"] or []
    if len(rules) > 20:
        yield too_many(path, len(rules), 20)
    names = {
        container["name"]
        for field in ("containers", "initContainers")
        for container in spec["template"]["spec"].get(field) or ()
    }
    actions = ("Count", "FailIndex", "FailJob", "Ignore")
    for index, rule in enumerate(rules):
        at, action = f"{path}[{index}]", rule["action"]
        if action == "FailIndex" and "backoffLimitPerIndex" not in spec:
            yield invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set")
        if not action:
            yield required(f"{at}.action", _valid(actions))
        elif action not in actions:
            yield unsupported(f"{at}.action", action, actions)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            yield from _exit_codes(f"{at}.onExitCodes", codes, names)
        if conditions:
            if len(conditions) > _MOST_RULES:
                yield too_many(f"{at}.onPodConditions", len(conditions), _MOST_RULES)
            for number, pattern in enumerate(conditions):
                yield from _condition_pattern(f"{at}.onPodConditions[{number}]", pattern)
        if codes is not None and conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield invalid(at, OMITTED, detail)
        if codes is None and not conditions:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            yield invalid(at, OMITTED, detail)


def _exit_codes(path: str, codes: Manifest, names: set[str]) -> Iterator[Problem]:
    operator, values = codes["operator"], codes["values"] or []
    if not operator:
        yield required(f"{path}.operator", _valid(("In", "NotIn")))
    elif operator not in ("In", "NotIn"):
        yield unsupported(f"{path}.operator", operator, ("In", "NotIn"))
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", container, detail)
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > 255:
        yield too_many(f"{path}.values", len(values), 255)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if values != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _condition_pattern(path: str, pattern: Manifest) -> Iterator[Problem]:
    yield from formats.named(f"{path}.type", pattern["type"], formats.qualified(pattern["type"]))
    if not pattern["status"]:
        yield required(f"{path}.status", _valid(("False", "True", "Unknown")))
    elif pattern["status"] not in ("False", "True", "Unknown"):
        yield unsupported(f"{path}.status", pattern["status"], ("False", "True", "Unknown"))


def _valid(values: Sequence[str]) -> str:
    """As Go prints a list of texts."""
    return f"valid values: [{' '.join(map(quoted, values))}]"


def _replacement_policy(spec: Manifest) -> Iterator[Problem]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    if "podFailurePolicy" in spec:
        if policy != "Failed":
            yield unsupported("spec.podReplacementPolicy", policy, ("Failed",))
    elif policy not in ("Failed", "TerminatingOrFailed"):
        yield unsupported("spec.podReplacementPolicy", policy, ("Failed", "TerminatingOrFailed"))


def counted_indexes(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text like `0,3-5` names, and what is wrong with it, if it is."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            detail = "violates the requirement that an index interval can have at most two parts separated by '-'"
            return 0, f"the fragment {quoted(part)} {detail}"
        numbers: list[int] = []
        for limit in limits:
            digits = limit.lstrip("+-") if len(limit) - len(limit.lstrip("+-")) <= 1 else ""
            if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
                return 0, f"cannot convert string to integer for index: {quoted(limit)}"
            numbers.append(int(limit))
            if numbers[-1] >= completions:
                return 0, f"too large index: {quoted(limit)}"
        if len(numbers) == 2 and numbers[0] >= numbers[1]:
            return 0, f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}"
        if last >= numbers[0]:
            return 0, f"non-increasing order, previous: {last}, current: {numbers[0]}"
        total, last = total + numbers[-1] - numbers[0] + 1, numbers[-1]
    return total, ""
