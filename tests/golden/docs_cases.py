"""The worked examples of the Kubernetes documentation, as data: a cluster, a pod, and what the page says comes of it.

Manifests are shortened to what the page is about; creation fills in the rest, as an API server would. `goes_to` names
the nodes that will do (none: the pod stays Pending), `refused` the reason of each node that will not, `message` the
beginning of what the user is told, `scores` what one plugin gives each node before weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class DocsCase:
    name: str
    cluster: str
    pod: str
    goes_to: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    message: str = ""
    configuration: str = ""
    runtime_classes: str = ""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)


SKEW = "node(s) didn't match pod topology spread constraints"


def nodes(**zones: str) -> str:
    """Nodes in these zones, each a domain of its own under the key `node`."""
    return "".join(
        f"---\n{{kind: Node, metadata: {{name: {name}, labels: {{zone: {zone}, node: {name}}}}}}}\n"
        for name, zone in zones.items()
    )


def pods(*nodes: str) -> str:
    """Pods that count, one on each of these nodes."""
    return "".join(
        f"---\n{{kind: Pod, metadata: {{name: pod{number}, labels: {{foo: bar}}}}, spec: {{nodeName: {node}}}}}\n"
        for number, node in enumerate(nodes, 1)
    )


FOUR_NODES = nodes(node1="zoneA", node2="zoneA", node3="zoneB", node4="zoneB")
TWO_AND_ONE = pods("node1", "node2", "node3")
CONFLICT = nodes(node1="zoneA", node2="zoneA", node3="zoneB") + pods("node1", "node1", "node2", "node3", "node3")
ONE_CONSTRAINT = """
kind: Pod
metadata: {name: mypod, labels: {foo: bar}}
spec:
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {foo: bar}}}
"""
TWO_CONSTRAINTS = ONE_CONSTRAINT + (
    "  - {maxSkew: 1, topologyKey: node, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {foo: bar}}}\n"
)
SOFT = "topologyKey: node, whenUnsatisfiable: ScheduleAnyway"

CASES = (
    DocsCase(
        "spread: zone A would have 3 pods to 1",
        cluster=FOUR_NODES + TWO_AND_ONE,
        pod=ONE_CONSTRAINT,
        goes_to=("node3", "node4"),
        refused={"node1": SKEW, "node2": SKEW},
    ),
    DocsCase(
        "spread: two constraints leave node4",
        cluster=FOUR_NODES + TWO_AND_ONE,
        pod=TWO_CONSTRAINTS,
        goes_to=("node4",),
        refused={"node1": SKEW, "node2": SKEW, "node3": SKEW},
    ),
    DocsCase(
        "spread: two constraints that conflict",
        cluster=CONFLICT,
        pod=TWO_CONSTRAINTS,
        refused={"node1": SKEW, "node2": SKEW, "node3": SKEW},
        message=f"0/3 nodes are available: 3 {SKEW}. ",
    ),
    DocsCase(
        "spread: the second of them is soft",
        cluster=CONFLICT,
        pod=TWO_CONSTRAINTS.replace("topologyKey: node, whenUnsatisfiable: DoNotSchedule", SOFT),
        goes_to=("node3",),
        refused={"node1": SKEW, "node2": SKEW},
    ),
    DocsCase(
        "spread: zone C, excluded by node affinity, does not count",
        cluster=FOUR_NODES + nodes(node5="zoneC") + TWO_AND_ONE,
        pod=ONE_CONSTRAINT
        + """
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: zone, operator: NotIn, values: [zoneC]}
""",
        goes_to=("node3", "node4"),
        refused={"node1": SKEW, "node2": SKEW, "node5": "node(s) didn't match Pod's node affinity/selector"},
    ),
    DocsCase(
        "taints: two of three are tolerated",
        cluster="""
kind: Node
metadata: {name: node1}
spec:
  taints:
  - {key: key1, value: value1, effect: NoSchedule}
  - {key: key1, value: value1, effect: NoExecute}
  - {key: key2, value: value2, effect: NoSchedule}
""",
        pod="""
kind: Pod
metadata: {name: mypod}
spec:
  tolerations:
  - {key: key1, operator: Equal, value: value1, effect: NoSchedule}
  - {key: key1, operator: Equal, value: value1, effect: NoExecute}
""",
        refused={"node1": "node(s) had untolerated taint {key2: value2}"},
        message="0/1 nodes are available: 1 node(s) had untolerated taint {key2: value2}. ",
    ),
    DocsCase(
        "affinity added by the profile foo-scheduler",
        configuration="""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: foo-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: scheduler-profile, operator: In, values: [foo]}
""",
        cluster="""
{kind: Node, metadata: {name: common}}
---
{kind: Node, metadata: {name: reserved, labels: {scheduler-profile: foo}}}
""",
        pod="{kind: Pod, metadata: {name: mypod}, spec: {schedulerName: foo-scheduler}}",
        goes_to=("reserved",),
        refused={"common": "node(s) didn't match scheduler-enforced node affinity"},
    ),
    DocsCase(
        "pod overhead: a node of 2250m and 320Mi is just enough",
        runtime_classes="""
{kind: RuntimeClass, metadata: {name: kata-fc}, handler: kata-fc, overhead: {podFixed: {memory: 120Mi, cpu: 250m}}}
""",
        cluster="""
{kind: Node, metadata: {name: small}, status: {capacity: {cpu: 2249m, memory: 8Gi, pods: 110}}}
---
{kind: Node, metadata: {name: enough}, status: {capacity: {cpu: 2250m, memory: 320Mi, pods: 110}}}
""",
        pod="""
kind: Pod
metadata: {name: test-pod}
spec:
  runtimeClassName: kata-fc
  containers:
  - {name: busybox-ctr, image: busybox, resources: {limits: {cpu: 500m, memory: 100Mi}}}
  - {name: nginx-ctr, image: nginx, resources: {limits: {cpu: 1500m, memory: 100Mi}}}
""",
        goes_to=("enough",),
        refused={"small": "Insufficient cpu"},
    ),
    DocsCase(
        "bin packing: 60 and 69",
        configuration="""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources:
        - {name: intel.com/foo, weight: 5}
        - {name: memory, weight: 1}
        - {name: cpu, weight: 3}
        requestedToCapacityRatio:
          shape:
          - {utilization: 0, score: 0}
          - {utilization: 100, score: 10}
""",
        cluster="""
{kind: Node, metadata: {name: node1}, status: {capacity: {intel.com/foo: 4, memory: 1Gi, cpu: 8, pods: 110}}}
---
{kind: Node, metadata: {name: node2}, status: {capacity: {intel.com/foo: 8, memory: 1Gi, cpu: 8, pods: 110}}}
---
kind: Pod
metadata: {name: used1}
spec:
  nodeName: node1
  containers: [{name: c, image: x, resources: {limits: {intel.com/foo: 1, memory: 256Mi, cpu: 1}}}]
---
kind: Pod
metadata: {name: used2}
spec:
  nodeName: node2
  containers: [{name: c, image: x, resources: {limits: {intel.com/foo: 2, memory: 512Mi, cpu: 6}}}]
""",
        pod="""
kind: Pod
metadata: {name: mypod}
spec:
  containers: [{name: c, image: x, resources: {limits: {intel.com/foo: 2, memory: 256Mi, cpu: 2}}}]
""",
        goes_to=("node1", "node2"),
        scores={"NodeResourcesFit": {"node1": 60, "node2": 69}},
    ),
)
