"""A cluster as `kubectl get nodes,pods -A -o json` prints it: one node each of kind, EKS and GKE, and the usual pods.

Written by hand after what such clusters print, with the fields nobody schedules by left in, `null`s included.
"""

from __future__ import annotations

import copy
from typing import Any

Manifest = dict[str, Any]

_TIME = "2026-11-02T07:15:09Z"


def cluster_dump() -> Manifest:
    """The list, as one document."""
    return {"apiVersion": "v1", "items": [copy.deepcopy(item) for item in (*_nodes(), *_pods())], "kind": "List",
            "metadata": {"resourceVersion": "", "selfLink": ""}}  # fmt: skip


def _nodes() -> list[Manifest]:
    kind = _node("kind-control-plane",
                 labels={"node-role.kubernetes.io/control-plane": "",
                         "node.kubernetes.io/exclude-from-external-load-balancers": ""},
                 annotations={"kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock",
                              "node.alpha.kubernetes.io/ttl": "0",
                              "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
                 spec={"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"],
                       "providerID": "kind://docker/kind/kind-control-plane",
                       "taints": [{"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"}]},
                 allocatable={"cpu": "8", "ephemeral-storage": "490617784Ki", "hugepages-1Gi": "0",
                              "hugepages-2Mi": "0", "memory": "16283252Ki", "pods": "110"},
                 images=[(["registry.k8s.io/etcd:3.6.4-0"], 74311308),
                         (["docker.io/kindest/kindnetd:v20250512-df8de77b", "docker.io/kindest/kindnetd@sha256:7a9c"],
                          44375501)])  # fmt: skip
    eks = _node("ip-10-0-37-12.eu-central-1.compute.internal",
                labels={"alpha.eksctl.io/nodegroup-name": "workers", "beta.kubernetes.io/instance-type": "m5.large",
                        "eks.amazonaws.com/capacityType": "ON_DEMAND",
                        "failure-domain.beta.kubernetes.io/region": "eu-central-1",
                        "failure-domain.beta.kubernetes.io/zone": "eu-central-1a",
                        "k8s.io/cloud-provider-aws": "5553ae84a0d29114870f67bbabd07d44",
                        "node.kubernetes.io/instance-type": "m5.large",
                        "topology.ebs.csi.aws.com/zone": "eu-central-1a",
                        "topology.kubernetes.io/region": "eu-central-1",
                        "topology.kubernetes.io/zone": "eu-central-1a"},
                annotations={"csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"i-0b1f"}',
                             "alpha.kubernetes.io/provided-node-ip": "10.0.37.12"},
                spec={"providerID": "aws:///eu-central-1a/i-0b1f", "unschedulable": None, "configSource": None},
                allocatable={"attachable-volumes-aws-ebs": "25", "cpu": "1930m", "ephemeral-storage": "18242267924",
                             "hugepages-1Gi": "0", "hugepages-2Mi": "0", "memory": "7220184Ki", "pods": "29",
                             "vpc.amazonaws.com/pod-eni": "9"},
                images=[(["602401143452.dkr.ecr.eu-central-1.amazonaws.com/amazon-k8s-cni@sha256:9f1c"], 44512309),
                        (["602401143452.dkr.ecr.eu-central-1.amazonaws.com/eks/pause:3.10", ""], 298689)])  # fmt: skip
    gke = _node("gke-prod-pool-1-9f1c2c56-zk1w",
                labels={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
                        "cloud.google.com/gke-nodepool": "pool-1", "cloud.google.com/gke-spot": "true",
                        "node.kubernetes.io/instance-type": "n1-standard-4", "topology.gke.io/zone": "europe-west3-b",
                        "topology.kubernetes.io/region": "europe-west3",
                        "topology.kubernetes.io/zone": "europe-west3-b"},
                annotations={"container.googleapis.com/instance_id": "4820159203948120334",
                             "node.gke.io/last-applied-node-labels": "a=b,c"},
                spec={"podCIDR": "10.4.2.0/24", "providerID": "gce://prod/europe-west3-b/gke-prod-pool-1-9f1c2c56-zk1w",
                      "taints": [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "present"},
                                 {"effect": "NoExecute", "key": "cloud.google.com/gke-spot", "timeAdded": _TIME,
                                  "value": "true"}]},
                allocatable={"attachable-volumes-gce-pd": "127", "cpu": "3.92", "ephemeral-storage": "47093746742",
                             "hugepages-2Mi": "0", "memory": "12663696Ki", "nvidia.com/gpu": "1", "pods": "110"},
                images=[(None, 0)])  # fmt: skip
    return [kind, eks, gke]


def _pods() -> list[Manifest]:
    owner = {
        "apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True, "kind": "DaemonSet", "name": "kindnet",
        "uid": "6d4b2a56-8f0e-4f54-9d3f-0c6fa4a1a1aa",
    }  # fmt: skip
    static = _pod("kube-system", "etcd-kind-control-plane",
                  metadata={"annotations": {"kubernetes.io/config.mirror": "b1f5",
                                            "kubernetes.io/config.source": "file",
                                            "weird/note": 'ünïcode, "quotes" and\nlines'},
                            "ownerReferences": [{**owner, "kind": "Node", "name": "kind-control-plane",
                                                 "apiVersion": "v1"}]},
                  spec={"containers": [_container("etcd", {"cpu": "100m", "memory": "100Mi"},
                                                  image="registry.k8s.io/etcd:3.6.4-0")], "hostNetwork": True,
                        "nodeName": "kind-control-plane", "priority": 2000001000,
                        "priorityClassName": "system-node-critical",
                        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                        "tolerations": [{"effect": "NoExecute", "operator": "Exists"}],
                        "volumes": [{"hostPath": {"path": "/var/lib/etcd", "type": "DirectoryOrCreate"},
                                     "name": "etcd-data"}]})  # fmt: skip
    daemon = _pod(
        "kube-system",
        "aws-node-7xk2p",
        metadata={"generateName": "aws-node-", "ownerReferences": [owner]},
        spec={
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": None,
                                "matchFields": [
                                    {
                                        "key": "metadata.name",
                                        "operator": "In",
                                        "values": ["ip-10-0-37-12.eu-central-1.compute.internal"],
                                    }
                                ],
                            }
                        ]
                    }
                }
            },
            "containers": [
                {
                    **_container("aws-node", {"cpu": "25m"}),
                    "ports": [{"containerPort": 61678, "hostPort": 61678, "name": "metrics", "protocol": "TCP"}],
                    "env": [
                        {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}
                    ],
                }
            ],
            "hostNetwork": True,
            "tolerations": [
                {"operator": "Exists"},
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            ],
        },
    )
    web = _pod(
        "shop",
        "web-6c9b8f7d5-2x4qv",
        metadata={"labels": {"app": "web", "pod-template-hash": "6c9b8f7d5"}, "ownerReferences": [owner]},
        spec={
            "containers": [_container("web", {"cpu": "0.5", "memory": "1500Mi", "ephemeral-storage": "2e3"})],
            "initContainers": [
                {**_container("proxy", {"cpu": "100m", "memory": "128Mi"}), "restartPolicy": "Always"},
                _container("migrate", {"cpu": "700m", "memory": "0.5Gi"}),
            ],
            "topologySpreadConstraints": [
                {
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "matchLabelKeys": ["pod-template-hash"],
                    "maxSkew": 1,
                    "minDomains": None,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ],
            "volumes": [
                _token_volume(),
                {"emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}, "name": "cache"},
                {"emptyDir": {}, "name": "tmp"},
                {
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "metadata": {"creationTimestamp": None},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                                "storageClassName": "gp3",
                            },
                        }
                    },
                    "name": "scratch",
                },
                {"configMap": {"defaultMode": 420, "items": None, "name": "web"}, "name": "config"},
            ],
        },
    )
    gpu = _pod("ml", "train-0",
               spec={"containers": [{**_container("train", {"cpu": "2", "memory": "4G", "nvidia.com/gpu": 1}),
                                     "resources": {"limits": {"nvidia.com/gpu": 1},
                                                   "requests": {"cpu": "2", "memory": "4G", "nvidia.com/gpu": 1}}}],
                     "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
                     "tolerations": [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"},
                                     {"key": "cloud.google.com/gke-spot", "operator": "Equal", "value": "true"}],
                     "volumes": [{"name": "data",
                                  "persistentVolumeClaim": {"claimName": "data-train-0"}}]})  # fmt: skip
    waiting = _pod("shop", "report-28991520-l9hzk",
                   spec={"containers": [_container("report", {"cpu": 3, "memory": "12Gi"})],
                         "restartPolicy": "OnFailure"},
                   status={"conditions": [{"lastProbeTime": None, "lastTransitionTime": _TIME,
                                           "message": "0/3 nodes are available: 3 Insufficient memory.",
                                           "reason": "Unschedulable", "status": "False",
                                           "type": "PodScheduled"}]})  # fmt: skip
    finished = _pod("shop", "report-28991460-aaaaa",
                    spec={"containers": [_container("report", {"cpu": "1", "memory": "6Gi"})],
                          "nodeName": "ip-10-0-37-12.eu-central-1.compute.internal"},
                    status={"phase": "Succeeded"})  # fmt: skip
    return [static, daemon, web, gpu, waiting, finished]


def _node(
    name: str,
    *,
    labels: dict[str, str],
    annotations: dict[str, str],
    spec: Manifest,
    allocatable: dict[str, Any],
    images: list[tuple[list[str] | None, int]],
) -> Manifest:
    os_labels = {"beta.kubernetes.io/arch": "amd64", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {**_metadata(name), "annotations": annotations,
                         "labels": {**os_labels, "kubernetes.io/hostname": name, **labels}}, "spec": spec,
            "status": {"addresses": [{"address": "10.0.0.1", "type": "InternalIP"},
                                     {"address": name, "type": "Hostname"}], "allocatable": allocatable,
                       "capacity": {**allocatable, "pods": allocatable["pods"]},
                       "conditions": [{"lastHeartbeatTime": "2026-11-21T09:00:01Z", "lastTransitionTime": _TIME,
                                       "message": "kubelet is posting ready status", "reason": "KubeletReady",
                                       "status": "True", "type": "Ready"}],
                       "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                       "images": [{"names": names, "sizeBytes": size} for names, size in images],
                       "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.34.1", "swap": {"capacity": None}},
                       "runtimeHandlers": [{"features": {"recursiveReadOnlyMounts": True}, "name": ""}],
                       "volumesAttached": None, "volumesInUse": None}}  # fmt: skip


def _pod(
    namespace: str, name: str, *, spec: Manifest, metadata: Manifest | None = None, status: Manifest | None = None
) -> Manifest:
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {**_metadata(name), "namespace": namespace, **(metadata or {})},
            "spec": {"dnsPolicy": "ClusterFirst", "enableServiceLinks": True, "imagePullSecrets": None,
                     "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
                     "schedulerName": "default-scheduler", "securityContext": {}, "serviceAccount": "default",
                     "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
                     "tolerations": [{"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
                                     for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")],
                     **spec},
            "status": {"phase": "Running" if "nodeName" in spec else "Pending", "qosClass": "Burstable",
                       **(status or {})}}  # fmt: skip


def _metadata(name: str) -> Manifest:
    return {"creationTimestamp": _TIME, "deletionTimestamp": None, "generation": 1,
            "managedFields": [{"apiVersion": "v1", "fieldsType": "FieldsV1",
                               "fieldsV1": {"f:metadata": {"f:labels": {".": {}, 'k:{"name":"x"}': {}}}},
                               "manager": "kube-controller-manager", "operation": "Update", "time": _TIME}],
            "name": name, "resourceVersion": "184529", "uid": f"uid-of-{name}"}  # fmt: skip


def _container(name: str, requests: dict[str, Any], *, image: str = "example.com/app:1.2@sha256:00ff") -> Manifest:
    return {
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {"failureThreshold": 8, "httpGet": {"path": "/livez", "port": 2381, "scheme": "HTTP"}},
        "name": name,
        "resources": {"limits": None, "requests": requests},
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [{"mountPath": "/var/run/secrets", "name": "kube-api-access-x", "readOnly": True}],
    }


def _token_volume() -> Manifest:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    roots = {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}}
    return {"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": [token, roots]}}
