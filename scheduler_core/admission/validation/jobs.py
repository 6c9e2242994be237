"""What is checked of jobs.

Source: kubernetes v1.34.1, pkg/apis/batch/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.admission.context import (
    Manifest,
    Problem,
    Shown,
    duplicate,
    invalid,
    required,
    too_many,
    unsupported,
)
from scheduler_core.admission.validation import formats
from scheduler_core.admission.validation.formats import not_negative
from scheduler_core.admission.validation.workloads import matches_problems, template_problems
from scheduler_core.api.schema import internal_text, json_text


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
    yield from _completion(spec)
    yield from _failure_policy(spec)
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
    elif mode in (None, "NonIndexed"):
        for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if field in spec:
                yield invalid(f"spec.{field}", spec[field], "requires indexed completion mode")
    if "successPolicy" in spec and mode != "Indexed":
        shown = Shown(internal_text(spec["successPolicy"], "batch.SuccessPolicy"))
        yield invalid("spec.successPolicy", shown, "requires indexed completion mode")
    elif "successPolicy" in spec and not spec["successPolicy"]["rules"]:
        yield required(
            "spec.successPolicy.rules", "at least one rules must be specified when the successPolicy is specified"
        )


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
            yield required(f"{at}.action", f"valid values: {', '.join(chr(34) + one + chr(34) for one in actions)}")
        elif action not in actions:
            yield unsupported(f"{at}.action", action, actions)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            yield from _exit_codes(f"{at}.onExitCodes", codes, names)
        if conditions:
            for number, pattern in enumerate(conditions):
                yield from _condition_pattern(f"{at}.onPodConditions[{number}]", pattern)
        if codes is not None and conditions:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield invalid(at, Shown(internal_text(rule, "batch.PodFailurePolicyRule")), detail)
        if codes is None and not conditions:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            yield invalid(at, Shown(internal_text(rule, "batch.PodFailurePolicyRule")), detail)


def _exit_codes(path: str, codes: Manifest, names: set[str]) -> Iterator[Problem]:
    operator, values = codes["operator"], codes["values"] or []
    if not operator:
        yield required(f"{path}.operator", 'valid values: "In", "NotIn"')
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
    if not pattern["type"]:
        yield required(f"{path}.type")
    else:
        yield from formats.named(f"{path}.type", pattern["type"], formats.qualified(pattern["type"]))
    if not pattern["status"]:
        yield required(f"{path}.status", 'valid values: "False", "True", "Unknown"')
    elif pattern["status"] not in ("False", "True", "Unknown"):
        yield unsupported(f"{path}.status", pattern["status"], ("False", "True", "Unknown"))


def _replacement_policy(spec: Manifest) -> Iterator[Problem]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    if "podFailurePolicy" in spec:
        if policy != "Failed":
            yield unsupported("spec.podReplacementPolicy", policy, ("Failed",))
    elif policy not in ("Failed", "TerminatingOrFailed"):
        yield unsupported("spec.podReplacementPolicy", policy, ("Failed", "TerminatingOrFailed"))
