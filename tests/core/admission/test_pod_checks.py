"""What is said of wrong parts of pods, whole and in upstream's order: every problem of a pod, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_core.errors import AdmissionError
from tests.builders import make_manifest, make_pod
from tests.cases import cases
from tests.core.admission.context import create, problems_of, update

C = "spec.containers[0]"
V = "spec.volumes[0]"
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
WINDOWS = "Forbidden: cannot be set for a windows pod"
EPHEMERAL = "Forbidden: cannot be set for an Ephemeral Container"


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **fields}]}


def env(source: dict[str, Any]) -> dict[str, Any]:
    return container(env=[{"name": "A", "valueFrom": source}])


def divisor(resource: str, divisor: str) -> dict[str, Any]:
    return env({"resourceFieldRef": {"resource": resource, "divisor": divisor}})


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def projected(*sources: dict[str, Any]) -> dict[str, Any]:
    return {**volume(projected={"sources": list(sources)}), "serviceAccountName": "default"}


def windows_user(name: str) -> dict[str, Any]:
    return {"securityContext": {"windowsOptions": {"runAsUserName": name}}}


def host_process(pod: bool | None, *containers: bool | None, network: bool = True) -> dict[str, Any]:
    options = [{"windowsOptions": {} if value is None else {"hostProcess": value}} for value in (pod, *containers)]
    made = [{"name": f"c{n}", "image": "i", "securityContext": one} for n, one in enumerate(options[1:])]
    return {"securityContext": options[0], "containers": made, "hostNetwork": network}


SECRET = {"name": "s", "items": [{"key": "a", "path": "x"}]}
TOKEN = {"path": "t", "expirationSeconds": 600}
KEY = {"key": "k", "name": "Bad_"}
DOWN = {"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}
MIRRORED = "metadata.annotations[kubernetes.io/config.mirror]"
USER = "spec.securityContext.windowsOptions.runAsUserName"

CHECKS: list[tuple[str, dict[str, Any], list[str]]] = [
    # enumerations whose order is given, and those that are sorted
    ("dns policy", {"dnsPolicy": "No"},
     ['spec.dnsPolicy: Unsupported value: "No": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default",'
      ' "None"']),
    ("preemption policy", {"preemptionPolicy": "No"},
     ['spec.preemptionPolicy: Unsupported value: "No": supported values: "PreemptLowerPriority", "Never"']),
    ("an enumeration is printed as JSON", {"restartPolicy": "<No>"},
     ['spec.restartPolicy: Unsupported value: "\\u003cNo\\u003e": supported values: "Always", "OnFailure", "Never"']),
    # operating systems
    ("system without a name", {"os": {"name": ""}}, ["spec.os.name: Required value: cannot be empty"]),
    ("windows options for linux",
     {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}},
      **container(securityContext={"windowsOptions": {}})},
     [f"{at}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"
      for at in ("spec", C)]),
    ("windows",
     {"os": {"name": "windows"}, "hostPID": True, "hostIPC": True, "hostUsers": True, "shareProcessNamespace": False,
      "securityContext": {"fsGroup": 1, "runAsUser": 1, "supplementalGroups": [1], "seLinuxOptions": {},
                          "sysctls": [{"name": "kernel.sem", "value": "1"}]},
      **container(securityContext={"privileged": False, "runAsGroup": 1, "readOnlyRootFilesystem": True})},
     ["spec.securityContext.sysctls[0].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is"
      " true",
      *(f"spec.{field}: {WINDOWS}" for field in (
          "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "securityContext.fsGroup",
          "securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser",
          "securityContext.supplementalGroups")),
      *(f"{C}.securityContext.{field}: {WINDOWS}" for field in ("readOnlyRootFilesystem", "privileged",
                                                                 "runAsGroup"))]),
    ("empty user of windows", windows_user(""),
     [f'{USER}: Invalid value: "": runAsUserName cannot be an empty string']),
    ("control character", windows_user("a\tb"),
     [f'{USER}: Invalid value: "a\\tb": runAsUserName cannot contain control characters']),
    ("two backslashes", windows_user("a\\b\\c"),
     [f'{USER}: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash']),
    ("domain", windows_user("a:b\\u"),
     [f"{USER}: Invalid value: \"a:b\\\\u\": runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
    ("no user", windows_user("d\\"), [f"{USER}: Invalid value: \"d\\\\\": runAsUserName's User cannot be empty"]),
    ("user of dots", windows_user(". ."),
     [f"{USER}: Invalid value: \". .\": runAsUserName's User cannot contain only periods or spaces"]),
    ("user of wrong characters", windows_user("a<b"),
     [f"{USER}: Invalid value: \"a\\u003cb\": runAsUserName's User cannot contain the following characters: "
      '"/\\:;|=,+*?<>@[]']),
    ("long user", windows_user("u" * 105),
     [f"{USER}: Invalid value: \"{'u' * 105}\": runAsUserName's User length must not be longer than 104 characters"]),
    ("good user", windows_user("a.example-of-a-domain.net\\u"), []),
    ("user of a short domain", windows_user("a_b\\u"), []),
    ("long domain that is no DNS name", windows_user("a_0123456789abcdef\\u"),
     [f"{USER}: Invalid value: \"a_0123456789abcdef\\\\u\": runAsUserName's Domain doesn't match the NetBios nor"
      " the DNS format"]),
    ("empty credentials", {"securityContext": {"windowsOptions": {"gmsaCredentialSpec": ""}}},
     ['spec.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty'
      " string"]),
    ("host processes of some containers", host_process(None, True, False),
     ['spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess'
      " containers"]),
    ("host processes unlike the pod", host_process(True, False, None),
     ["spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must"
      " be identical if both are specified, was true",
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess'
      " containers"]),
    ("host processes off the network", host_process(True, None, network=False),
     ["spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"]),
    # profiles
    ("seccomp with a name that is not asked for",
     {"securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}},
     ["spec.securityContext.seccompProfile.localhostProfile: Invalid value:"
      ' {"Type":"RuntimeDefault","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost']),
    ("empty AppArmor profile", {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": ""}}},
     ["spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is"
      " Localhost"]),
    ("padded AppArmor profile",
     {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": " x"}}},
     ['spec.securityContext.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with'
      " whitespace"]),
    ("AppArmor profile of an unknown type",
     {"securityContext": {"appArmorProfile": {"type": "X", "localhostProfile": "x"}}},
     ['spec.securityContext.appArmorProfile.type: Unsupported value: "X": supported values: "Localhost",'
      ' "RuntimeDefault", "Unconfined"']),
    ("order of a security context",
     {"securityContext": {"supplementalGroupsPolicy": "X", "fsGroupChangePolicy": "X", "seccompProfile": {"type": ""}}},
     ['spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
      "spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set",
      'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "X": supported values: "Merge", "Strict"']),
    # overhead
    ("overhead of an unknown name", {"overhead": {"odd": "1"}},
     ['spec.overhead.limits[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'spec.overhead.limits[odd]: Invalid value: "odd": must be a standard resource for containers']),
    # containers
    ("sleep longer than the grace",
     {"terminationGracePeriodSeconds": 5, **container(lifecycle={"preStop": {"sleep": {"seconds": 6}}})},
     [f"{C}.lifecycle.preStop.sleep: Invalid value: 6: must be non-negative and less than terminationGracePeriodSeconds"
      " (5)"]),
    ("sleep as long as the grace",
     {"terminationGracePeriodSeconds": 5, **container(lifecycle={"preStop": {"sleep": {"seconds": 5}}})}, []),
    ("ephemeral container of an init container",
     {"initContainers": [{"name": "i", "image": "i"}],
      "ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "i"}]},
     ["spec.ephemeralContainers: Forbidden: cannot be set on create"]),
    ("what ephemeral containers do not have",
     {"ephemeralContainers": [{
         "name": "e", "image": " i", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 1}],
         "volumeMounts": [{"name": "v", "mountPath": "/a", "subPath": "b"}], "lifecycle": {},
         "livenessProbe": {"exec": {"command": ["x"]}}}],
      **volume(emptyDir={})},
     ['spec.ephemeralContainers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
      *(f"spec.ephemeralContainers[0].{field}: {EPHEMERAL}"
        for field in ("ports", "resources", "livenessProbe", "lifecycle", "volumeMounts[0].subPath")),
      "spec.ephemeralContainers: Forbidden: cannot be set on create"]),
    ("claim that the pod does not have", container(resources={"claims": [{"name": "x"}]}),
     [f'{C}.resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty']),
    ("claims that stand twice",
     {"resourceClaims": [{"name": "x", "resourceClaimName": "n"}],
      **container(resources={"claims": [{"name": "x", "request": "r"}, {"name": "x", "request": "r"}, {"name": "x"},
                                        {"name": "x"}, {"name": ""}]})},
     [f'{C}.resources.claims[1]: Duplicate value: "x/r"', f'{C}.resources.claims[2]: Duplicate value: "x"',
      f'{C}.resources.claims[3]: Duplicate value: "x"', f"{C}.resources.claims[4]: Required value"]),
    # environment
    ("key of a map without a name", env({"configMapKeyRef": {"key": "k"}}),
     [f'{C}.env[0].valueFrom.configMapKeyRef.name: Invalid value: "": {SUBDOMAIN}']),
    ("key of a secret with a wrong name", env({"secretKeyRef": KEY}),
     [f'{C}.env[0].valueFrom.secretKeyRef.name: Invalid value: "Bad_": {SUBDOMAIN}']),
    ("whole map with a wrong name", container(envFrom=[{"configMapRef": {"name": "Bad_"}}]),
     [f'{C}.envFrom[0].configMapRef.name: Invalid value: "Bad_": {SUBDOMAIN}']),
    ("whole secret whose name ends in a dash", container(envFrom=[{"secretRef": {"name": "a-"}}]), []),
    ("label of a field", env({"fieldRef": {"fieldPath": "metadata.labels['a b']"}}),
     [f'{C}.env[0].valueFrom.fieldRef: Invalid value: "a b": {QUALIFIED}']),
    ("annotation of a field", env({"fieldRef": {"fieldPath": "metadata.annotations['A B']"}}),
     [f'{C}.env[0].valueFrom.fieldRef: Invalid value: "a b": {QUALIFIED}']),
    ("part of another field", env({"fieldRef": {"fieldPath": "spec.x['a']"}}),
     [f"{C}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.x['a']\": error converting fieldPath: field"
      " label does not support subscript: spec.x['a']"]),
    ("the node by its old name", env({"fieldRef": {"fieldPath": "spec.host"}}), []),
    ("divisor of cpu", divisor("limits.cpu", "2"),
     [f'{C}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are'
      " supported with the cpu resource"]),
    ("divisor in other words", divisor("limits.cpu", "1000m"), []),
    ("divisor of storage", divisor("requests.ephemeral-storage", "2"),
     [f'{C}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.ephemeral-storage": only divisor\'s'
      f" values {BYTES} are supported with the local ephemeral storage resource"]),
    ("divisor of huge pages", divisor("limits.hugepages-2Mi", "2"),
     [f'{C}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.hugepages-2Mi": only divisor\'s'
      f" values {BYTES} are supported with the hugepages resource"]),
    # volumes
    ("two files of one place",
     projected({"secret": SECRET}, {"configMap": {**SECRET, "name": "m"}}, {"secret": SECRET}),
     [f'{V}.projected: Invalid value: "{name}": conflicting duplicate paths' for name in ("m", "s")]),
    ("two fields of one place", projected({"secret": SECRET}, {"downwardAPI": {"items": [DOWN]}}),
     [f'{V}.projected: Invalid value: "x": conflicting duplicate paths']),
    ("two sources in one",
     projected({"secret": {"items": [{"key": "a", "path": ""}]}, "configMap": {"name": ""}}),
     [f"{V}.projected.sources[0].secret.name: Required value",
      f"{V}.projected.sources[0].secret.items[0].path: Required value",
      f"{V}.projected.sources[0].configMap.name: Required value",
      f"{V}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"]),
    ("token at no place", projected({"serviceAccountToken": {**TOKEN, "path": ""}}),
     [f"{V}.projected.path: Required value"]),
    ("token outside", projected({"serviceAccountToken": {**TOKEN, "path": "../t"}}),
     [f"{V}.projected.path: Invalid value: \"../t\": must not contain '..'"]),
    ("tokens and files of one place",
     projected({"serviceAccountToken": {**TOKEN, "path": "x"}}, {"secret": SECRET}), []),
    ("NFS without a path", volume(nfs={"server": "s", "path": ""}),
     [f"{V}.nfs.path: Required value", f'{V}.nfs.path: Invalid value: "": must be an absolute path']),
    ("iSCSI of a wrong name", volume(iscsi={"targetPortal": "p", "iqn": "x", "lun": 0}),
     [f'{V}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa']),
    ("iSCSI of an incomplete name", volume(iscsi={"targetPortal": "p", "iqn": "iqn.x", "lun": 256}),
     [f'{V}.iscsi.iqn: Invalid value: "iqn.x": must be valid format',
      f"{V}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive"]),
    ("iSCSI with an initiator",
     volume(iscsi={"targetPortal": "p" * 64, "iqn": "eui.0123456789abcdef", "lun": 0, "initiatorName": "y",
                   "chapAuthSession": True, "chapAuthDiscovery": True}),
     [f"{V}.iscsi.secretRef: Required value",
      f'{V}.iscsi.initiatorname: Invalid value: "y": must be valid format starting with iqn, eui, or naa',
      f'{V}.name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if'
      " iscsi.initiatorName is specified."]),
    ("partition", volume(gcePersistentDisk={"pdName": "d", "partition": 256}),
     [f"{V}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"]),
    ("flocker", volume(flocker={"datasetName": "a/b", "datasetUUID": "u"}),
     [f'{V}.flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
      f"{V}.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'"]),
    ("quobyte", volume(quobyte={"registry": "a:1,b", "volume": ""}),
     [f'{V}.quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or multiple pairs separated by commas',
      f"{V}.quobyte.volume: Required value"]),
    ("storageos", volume(storageos={"secretRef": {}}),
     [f"{V}.storageos.volumeName: Required value", f"{V}.storageos.secretRef.name: Required value"]),
    ("cinder", volume(cinder={"volumeID": "v", "secretRef": {}}), [f"{V}.cinder.secretRef.name: Required value"]),
    ("flex volume", volume(flexVolume={"driver": "d", "options": {"k8s.io/a": "b"}}),
     [f'{V}.flexVolume.options[k8s.io/a]: Invalid value: "k8s.io/a": kubernetes.io and k8s.io namespaces are'
      " reserved"]),
    ("azure disk", volume(azureDisk={"diskName": "d", "diskURI": "u", "kind": "Managed"}),
     [f'{V}.azureDisk.diskURI: Unsupported value: "u": supported values:'
      ' "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"']),
    ("secret of a driver", volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "Bad_"}}),
     [f'{V}.csi.name: Invalid value: "Bad_": {SUBDOMAIN}']),
    ("metadata of a claim's template",
     volume(ephemeral={"volumeClaimTemplate": {
         "metadata": {"name": "n", "uid": "u", "labels": {"a": "b"}},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}),
     [f"{V}.ephemeral.volumeClaimTemplate.metadata.{field}: Forbidden: cannot be set" for field in ("name", "uID")]),
]  # fmt: skip


@cases("spec, want", *CHECKS)
def test_problems_of_pods(spec: dict[str, Any], want: list[str]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**container(), **spec}}
    assert problems_of(pod) == want


@cases(
    "annotations, context, want",
    ("another seccomp type", "container.seccomp.security.alpha.kubernetes.io/c=unconfined",
     {"seccompProfile": {"type": "RuntimeDefault"}},
     [f"{C}.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"]),
    ("the runtime's seccomp by its old name", "container.seccomp.security.alpha.kubernetes.io/c=docker/default",
     {"seccompProfile": {"type": "RuntimeDefault"}}, []),
    ("another seccomp profile", "container.seccomp.security.alpha.kubernetes.io/c=localhost/a",
     {"seccompProfile": {"type": "Localhost", "localhostProfile": "b"}},
     [f"{C}.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field"
      " must match"]),
    ("another AppArmor type", "container.apparmor.security.beta.kubernetes.io/c=runtime/default",
     {"appArmorProfile": {"type": "Unconfined"}},
     [f"{C}.securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match"]),
    ("another AppArmor profile", "container.apparmor.security.beta.kubernetes.io/c=localhost/a",
     {"appArmorProfile": {"type": "Localhost", "localhostProfile": "b"}},
     [f"{C}.securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in annotation and field"
      " must match"]),
    ("the same AppArmor profile", "container.apparmor.security.beta.kubernetes.io/c=localhost/a",
     {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}, []),
)  # fmt: skip
def test_annotations_and_fields_name_the_same_profile(
    annotations: str, context: dict[str, Any], want: list[str]
) -> None:
    key, _, value = annotations.partition("=")
    metadata = {"name": "p", "annotations": {key: value}}
    spec = container(securityContext=context)
    assert problems_of({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}) == want
    template = {"metadata": {"annotations": {key: value}}, "spec": spec}
    inside = [problem.replace("spec.", "template.spec.", 1) for problem in want]
    assert problems_of(make_manifest("PodTemplate", "t", template=template)) == inside


@cases(
    "before, after, want",
    ("mirror removed", {"kubernetes.io/config.mirror": "a"}, {},
     f"{MIRRORED}: Forbidden: may not remove or update mirror pod annotation"),
    ("mirror changed", {"kubernetes.io/config.mirror": "a"}, {"kubernetes.io/config.mirror": "b"},
     f"{MIRRORED}: Forbidden: may not remove or update mirror pod annotation"),
    ("mirror added", {}, {"kubernetes.io/config.mirror": "a"},
     f"{MIRRORED}: Forbidden: may not add mirror pod annotation"),
    ("profile removed", {"container.apparmor.security.beta.kubernetes.io/c0": "unconfined"}, {},
     "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c0]: Forbidden: may not remove or update"
     " AppArmor annotations"),
    ("profile added", {}, {"container.apparmor.security.beta.kubernetes.io/c0": "unconfined"},
     "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c0]: Forbidden: may not add AppArmor"
     " annotations"),
)  # fmt: skip
def test_annotations_of_mirrors_and_profiles_stay(before: dict[str, str], after: dict[str, str], want: str) -> None:
    old = create(make_pod("p").container().on("n").annotation(before).manifest())
    new = {**old, "metadata": {**old["metadata"], "annotations": after}}
    with pytest.raises(AdmissionError) as refused:
        update(old, new)
    assert [f"{path}: {detail}" for path, detail in refused.value.problems] == [want]
    assert update(old, {**old, "metadata": {**old["metadata"], "annotations": {**before, "a": "b"}}})


@cases(
    "part, annotations, spec, want",
    ("room of a static pod", "resize", {"kubernetes.io/config.mirror": "a"}, {},
     "[]: Forbidden: static pods cannot be resized"),
    ("room of a windows pod", "resize", {}, {"os": {"name": "windows"}},
     "[]: Forbidden: windows pods cannot be resized"),
    ("room of a whole pod", "resize", {}, {"resources": {"requests": {"cpu": "1"}}},
     "[]: Forbidden: pods with pod-level resources cannot be resized"),
    ("ephemeral container of a static pod", "ephemeralcontainers", {"kubernetes.io/config.mirror": "a"}, {},
     "[]: Forbidden: static pods do not support ephemeral containers"),
    ("addresses of another host", "status", {}, {},
     "status.hostIPs[0].ip: Invalid value: \"10.0.0.1\": must be equal to `hostIP`"),
)  # fmt: skip
def test_changes_of_parts_that_are_refused(
    part: str, annotations: dict[str, str], spec: dict[str, Any], want: str
) -> None:
    old = create(make_pod("p").container().on("n").annotation(annotations).spec(**spec).manifest())
    new = {**old, "status": {**old["status"], "hostIP": "10.0.0.2", "hostIPs": [{"ip": "10.0.0.1"}]}}
    with pytest.raises(AdmissionError) as refused:
        update(old, new, subresource=part)
    assert [f"{path}: {detail}" for path, detail in refused.value.problems] == [want]
