"""AppArmor profiles of containers, which old clients say in annotations.

Source: kubernetes v1.34.1, pkg/registry/core/pod/strategy.go and pkg/api/pod/util.go.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.admission.context import Manifest

ANNOTATION_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
LONGEST_PROFILE: Final = 4095


def profile_of_annotation(text: str) -> Manifest | None:
    """The value of an annotation as a field; None when it is no profile."""
    if text == "unconfined":
        return {"type": "Unconfined"}
    if text == "runtime/default":
        return {"type": "RuntimeDefault"}
    name = text.removeprefix(_LOCALHOST)
    return {"type": "Localhost", "localhostProfile": name} if text.startswith(_LOCALHOST) and name else None


def copy_annotations(pod: Manifest) -> None:
    """Give a new pod's containers the profiles that its annotations name, in place."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    own = (spec.get("securityContext") or {}).get("appArmorProfile")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            profile = profile_of_annotation(annotations.get(ANNOTATION_PREFIX + container["name"], ""))
            if profile is None or "appArmorProfile" in (container.get("securityContext") or {}):
                continue
            name = profile.get("localhostProfile", "")
            if profile != own and name.strip() == name and len(name.encode()) <= LONGEST_PROFILE:
                container.setdefault("securityContext", {})["appArmorProfile"] = profile
