"""What is said of wrong objects of other kinds than pods: every problem, in upstream's order."""

from __future__ import annotations

from typing import Any

from scheduler_core.errors import AdmissionError
from tests.builders import make_manifest
from tests.cases import cases
from tests.core.admission.context import create, problems_of, update
from tests.core.admission.test_pod_checks import SUBDOMAIN

RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
NOTED = f"metadata.annotations[{RANGES}]"
CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
BALANCED = "Forbidden: may only be used when `type` is 'LoadBalancer'"
ONE_TYPE = "Forbidden: may not specify more than 1 volume type"
INLINE = "spec.source.inlineVolumeSpec"
NOT_INLINE = "Forbidden: may not be specified in the context of inline volumes"
EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
    " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
DEVICES = [{"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}}]


def service(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made = make_manifest("Service", "s", spec={"ports": [{"port": 1}], "type": "ClusterIP", **spec})
    made["metadata"]["annotations"] = annotations or {}
    return made


def volume(**spec: Any) -> dict[str, Any]:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return make_manifest("PersistentVolume", "v", spec={**base, **spec})


def claim(**spec: Any) -> dict[str, Any]:
    base = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    return make_manifest("PersistentVolumeClaim", "c", spec={**base, **spec})


def attachment(**source: Any) -> dict[str, Any]:
    return make_manifest("VolumeAttachment", "a", spec={"attacher": "d", "nodeName": "n", "source": source})


def quota(*expressions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return make_manifest("ResourceQuota", "q", spec={"scopeSelector": {"matchExpressions": list(expressions)}, **spec})


def job(**spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    base = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}, "completions": 5, "parallelism": 1,
            "selector": {"matchLabels": {"a": "b"}}, "manualSelector": True, "completionMode": "Indexed"}  # fmt: skip
    return make_manifest("Job", "j", spec={**base, **spec})


def failure(**rule: Any) -> dict[str, Any]:
    return job(podFailurePolicy={"rules": [rule]})


def success(*rules: dict[str, Any]) -> dict[str, Any]:
    return job(successPolicy={"rules": list(rules)})


def devices(**more: Any) -> dict[str, Any]:
    return make_manifest("ResourceClaim", "c", spec={"devices": {"requests": DEVICES, **more}})


def opaque(parameters: Any) -> dict[str, Any]:
    return devices(config=[{"opaque": {"driver": "d", "parameters": parameters}}])


RULE = "spec.podFailurePolicy.rules[0]"
DONE = "spec.successPolicy.rules[0]"
RAW = "spec.devices.config[0].opaque.parameters"
MATCH = {"matchAttribute": "d/a"}

CHECKS: list[tuple[str, dict[str, Any], list[str]]] = [
    # services
    ("annotated ranges of another type", service({RANGES: "10.0.0.0/8"}), [f"{NOTED}: {BALANCED}"]),
    ("annotated ranges", service({RANGES: " 10.0.0.0/8, x ,10.0.0.0/33"}, type="LoadBalancer"),
     [f'{NOTED}: Invalid value: "{text}": {CIDR}' for text in ("x", "10.0.0.0/33")]),
    ("empty annotation of ranges", service({RANGES: " "}, type="LoadBalancer"), []),
    ("the field of ranges counts",
     service({RANGES: "x"}, type="LoadBalancer", loadBalancerSourceRanges=[" 10.0.0.0/8 "]), []),
    ("ranges", service(loadBalancerSourceRanges=["x"]),
     [f"spec.LoadBalancerSourceRanges: {BALANCED}",
      f'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": {CIDR}']),
    ("hints of two minds",
     service({"service.kubernetes.io/topology-mode": "Auto", "service.kubernetes.io/topology-aware-hints": "Disabled"}),
     ['metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match'
      " annotations[service.kubernetes.io/topology-aware-hints] when both are specified"]),
    ("hints once", service({"service.kubernetes.io/topology-mode": "Auto"}), []),
    ("addresses of an external name", service(type="ExternalName", externalName="a.b", externalIPs=["127.0.0.1"]),
     ['spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)']),
    ("class of a load balancer", service(loadBalancerClass="a b"), [f"spec.loadBalancerClass: {BALANCED}"]),
    # volumes
    ("two sources",
     volume(cephfs={"monitors": ["m"]}, hostPath={"path": "/a"}, csi={"driver": "d", "volumeHandle": "h"}),
     [f"spec.cephFS: {ONE_TYPE}", f"spec.csi: {ONE_TYPE}"]),
    ("amounts below nothing", volume(capacity={"storage": "-1Gi"}, hostPath={"path": "/a"}),
     ["spec.capacity[storage]: Invalid value: -1073741824: must be a valid resource quantity",
      'spec.capacity[storage]: Invalid value: "-1Gi": must be greater than zero']),
    ("the root in other words", volume(hostPath={"path": "//"}, persistentVolumeReclaimPolicy="Recycle"),
     ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"]),
    ("disk", volume(gcePersistentDisk={"pdName": ""}), ["spec.persistentDisk.pdName: Required value"]),
    ("iSCSI", volume(iscsi={"targetPortal": "p", "iqn": "x", "lun": 0, "secretRef": {}}),
     ['spec.iscsi.iqn: Invalid value: "x": must be valid format', "spec.iscsi.secretRef.name: Required value"]),
    ("local without a place", volume(local={"path": ""}),
     ["spec.local.path: Required value", "spec.nodeAffinity: Required value: Local volume requires node affinity"]),
    ("glusterfs", volume(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": ""}),
     ['spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid'
      " namespace name"]),
    ("azure file", volume(azureFile={"secretName": "s", "shareName": "s", "secretNamespace": ""}),
     ["spec.azureFile.secretNamespace: Required value"]),
    ("secrets of a driver",
     volume(csi={"driver": "d", "volumeHandle": "h", "nodePublishSecretRef": {"name": "Bad_", "namespace": ""}}),
     [f'spec.csi.nodePublishSecretRef.name: Invalid value: "Bad_": {SUBDOMAIN}',
      "spec.csi.nodePublishSecretRef.namespace: Required value"]),
    ("attachment of a volume of a wrong name", attachment(persistentVolumeName="Bad_"),
     [f'spec.source.persistentVolumeName: Invalid value: "Bad_": {SUBDOMAIN}']),
    ("attachment of a volume of its own",
     attachment(inlineVolumeSpec={
         "capacity": {"storage": "1"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"},
         "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "s", "volumeMode": "Block"}),
     [f"{INLINE}.capacity: {NOT_INLINE}",
      f"{INLINE}.csi: Required value: has to be specified in the context of inline volumes",
      f"{INLINE}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes",
      f"{INLINE}.storageClassName: {NOT_INLINE}",
      f"{INLINE}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline"
      " volumes"]),
    # claims and classes
    ("two data sources",
     claim(dataSource={"kind": "PersistentVolumeClaim", "name": "a"},
           dataSourceRef={"kind": "PersistentVolumeClaim", "name": "b"}),
     ["spec: Invalid value: {}: must match dataSourceRef"]),
    ("provisioner", make_manifest("StorageClass", "s", provisioner="A B"),
     ["provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and"
      " must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
      " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]),
    ("audience twice",
     make_manifest("CSIDriver", "d", spec={
         "tokenRequests": [{"audience": ""}, {"audience": "", "expirationSeconds": 1}]}),
     ['spec.tokenRequests[1].audience: Duplicate value: ""']),
    # quotas and limits
    ("names of quotas", make_manifest("ResourceQuota", "q", spec={"hard": {"storage": "1", "odd": "1"}}),
     ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quota']),
    ("scope with values", quota({"scopeName": "BestEffort", "operator": "In", "values": ["a"]}),
     [f'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": {EXISTS}']),
    ("unknown scope", quota({"scopeName": "X", "operator": "In", "values": ["a"]}),
     ['spec.scopeSelector.matchExpressions.scopeName: Invalid value: "X": unsupported scope']),
    ("scope of another resource", quota({"scopeName": "BestEffort", "operator": "Exists"}, hard={"cpu": "1"}),
     ['spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":'
      '"Exists","Values":null}]}: unsupported scope applied to resource']),
    ("scopes that exclude each other",
     quota({"scopeName": "Terminating", "operator": "Exists"}, {"scopeName": "NotTerminating", "operator": "Exists"}),
     ["spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"]),
    ("names of limits",
     make_manifest("LimitRange", "l", spec={"limits": [{"type": "PersistentVolumeClaim",
                                                        "max": {"storage": "1", "odd": "1"}}]}),
     ['spec.limits[0].max[odd]: Invalid value: "odd": must be a standard resource type or fully qualified']),
    # jobs
    ("manager without a domain", job(managedBy="x"),
     ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")']),
    ("manager of wrong words", job(managedBy="Bad_/a b"),
     [f'spec.managedBy: Invalid value: "Bad_": {SUBDOMAIN}',
      'spec.managedBy: Invalid value: "a b": Invalid path (regex used for validation is'
      " '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"]),
    ("manager of many words", job(managedBy=f"a/{'b' * 62}"),
     ["spec.managedBy: Too long: may not be more than 63 bytes"]),
    ("very many indexes", job(completions=100001, parallelism=10001, backoffLimitPerIndex=1),
     ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
      "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000"
      " and used with backoff limit per index"]),
    ("no action", failure(action="", onExitCodes={"operator": "", "values": [1]}),
     [f'{RULE}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
      f'{RULE}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]']),
    ("a rule of nothing", failure(action="Count"),
     [f"{RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"]),
    ("a rule of both",
     failure(action="Count", onExitCodes={"operator": "In", "values": [1]},
             onPodConditions=[{"type": "a", "status": "X"}]),
     [f'{RULE}.onPodConditions[0].status: Unsupported value: "X": supported values: "False", "True", "Unknown"',
      f"{RULE}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"]),
    ("a success of nothing", success({}),
     [f"{DONE}: Required value: at least one of succeededCount or succeededIndexes must be specified"]),
    ("success of too many", success({"succeededCount": 6, "succeededIndexes": "0,2-3"}),
     [f"{DONE}.succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)",
      f"{DONE}.succeededCount: Invalid value: 6: must be less than or equal to 3 (the number of indexes in the"
      " specified succeededIndexes field)"]),
    *((f"indexes {text}", success({"succeededIndexes": text}),
       [f'{DONE}.succeededIndexes: Invalid value: "{text}": error parsing succeededIndexes: {problem}'])
      for text, problem in (
          ("5", 'too large index: "5"'), ("a", 'cannot convert string to integer for index: "a"'),
          ("2-2", "non-increasing order, previous: 2, current: 2"),
          ("3,1", "non-increasing order, previous: 3, current: 1"),
          ("0-1-2", 'the fragment "0-1-2" violates the requirement that an index interval can have at most two parts'
                    " separated by '-'"))),
    # devices
    ("parameters that are no object", opaque([1]),
     [f'{RAW}: Invalid value: "<value omitted>": parameters must be a valid JSON object']),
    ("large parameters", opaque({"a": "x" * 10240}), [f"{RAW}: Too long: may not be more than 10240 bytes"]),
    ("many constraints", devices(constraints=[MATCH] * 33),
     ["spec.devices.constraints: Too many: 33: must have at most 32 items"]),
    ("metadata of a template",
     make_manifest("ResourceClaimTemplate", "t", spec={"metadata": {"name": "n"}, "spec": {"devices": {}}}),
     ["spec.metadata.name: Forbidden: cannot be set"]),
]  # fmt: skip


@cases("manifest, want", *CHECKS)
def test_problems_of_other_kinds(manifest: dict[str, Any], want: list[str]) -> None:
    assert problems_of(manifest) == want


def addressed(**spec: Any) -> dict[str, Any]:
    base = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack"}  # fmt: skip
    return service(**{**base, **spec})


TWO = {"clusterIPs": ["10.0.0.1", "fd00::1"], "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"}
OPEN = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001}
BETA = "volume.beta.kubernetes.io/storage-class"
LABEL = {"key": "failure-domain.beta.kubernetes.io/zone", "operator": "In", "values": ["a"]}


def annotated(manifest: dict[str, Any], **annotations: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def placed(**expression: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [{**LABEL, **expression}]}]
    return volume(hostPath={"path": "/a"}, nodeAffinity={"required": {"nodeSelectorTerms": terms}})


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("second address", addressed(**TWO), addressed(), []),
    ("second address without a policy", addressed(**TWO), addressed(ipFamilyPolicy="PreferDualStack"),
     [f"spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be set to 'SingleStack' when releasing the"
      f" secondary {what}" for what in ("clusterIP", "ipFamily")]),
    ("second address of another", addressed(**TWO), addressed(**{**TWO, "clusterIPs": ["10.0.0.1", "fd00::2"]}),
     ['spec.clusterIPs[1]: Invalid value: ["10.0.0.1","fd00::2"]: may not change once set']),
    ("family", addressed(), addressed(ipFamilies=["IPv6"]),
     ['spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
      'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`']),
    ("port of health checks", addressed(**OPEN), addressed(**{**OPEN, "healthCheckNodePort": 30002}),
     ["spec.healthCheckNodePort: Forbidden: field is immutable"]),
    ("a change comes before the whole", addressed(), addressed(clusterIP="x", clusterIPs=["x"], ports=[]),
     ['spec.clusterIPs[0]: Invalid value: ["x"]: may not change once set', "spec.ports: Required value",
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']),
    ("class by annotation", annotated(claim(storageClassName="s"), **{BETA: "a"}),
     annotated(claim(storageClassName="s"), **{BETA: "b"}),
     [f'metadata.annotations.{BETA}: Invalid value: "b": field is immutable']),
    ("class of attributes gone", claim(volumeAttributesClassName="a", storageClassName=""), claim(storageClassName=""),
     ["spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"]),
    ("class of attributes emptied", claim(volumeAttributesClassName="a", storageClassName=""),
     claim(volumeAttributesClassName="", storageClassName=""),
     ["spec.volumeAttributesClassName: Forbidden: update from non-nil value to an empty string is forbidden"]),
    ("label of today", placed(), placed(key="topology.kubernetes.io/zone"), []),
    ("another label", placed(), placed(key="a"),
     ['nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"a","Operator":"In",'
      '"Values":["a"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA']),
    ("secret to expand with", volume(csi={"driver": "d", "volumeHandle": "h"}),
     volume(csi={"driver": "d", "volumeHandle": "h",
                 "controllerExpandSecretRef": {"name": "n", "namespace": "n"}}), []),
]  # fmt: skip


@cases("old, new, want", *CHANGES)
def test_changes_that_are_refused(old: dict[str, Any], new: dict[str, Any], want: list[str]) -> None:
    before = create(old, is_simulated=False)
    after = {**new, "metadata": {**before["metadata"], "annotations": new["metadata"].get("annotations", {})}}
    told: list[str] = []
    try:
        update(before, after, is_simulated=False)
    except AdmissionError as error:
        # The whole spec's difference is told of elsewhere.
        told = list(dict.fromkeys(f"{path}: {detail}" for path, detail in error.problems if path != "spec"))
    assert told == want
