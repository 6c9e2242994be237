"""What limit ranges, quotas, pod security and classes do to requests, whatever store is below.

Each module that imports these tests gives a fixture `server`, an ApiServer on an empty store.
"""

from __future__ import annotations

from typing import Any

from scheduler_core.apiserver.answers import Outcome
from scheduler_core.apiserver.requests import Create, ObjectKey, Patch, PatchType, Update
from scheduler_core.apiserver.server import ApiServer
from tests.builders import written
from tests.cases import cases
from tests.core.apiserver.asking import CLAIM, NOW, POD, Manifest, claim, done, made, pod, refused, stored

QUOTA = ObjectKey("ResourceQuota", "default", "q")
SPACE = ObjectKey("Namespace", "", "default")
ENFORCE, WARN = "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/warn"


def limits(*items: Manifest) -> Create:
    return Create(written("LimitRange", "l", spec={"limits": list(items)}))


def quota(server: ApiServer, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> None:
    """A quota whose usage a controller has counted."""
    done(server, Create(written("ResourceQuota", "q", spec={"hard": hard, **spec})))
    counted = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    done(server, Patch(QUOTA, {"status": counted}, subresource="status"))


def used(server: ApiServer) -> dict[str, str]:
    found: dict[str, str] = stored(server, QUOTA)["status"]["used"]
    return found


def space(server: ApiServer, labels: dict[str, str]) -> None:
    done(server, Create(written("Namespace", "default", metadata={"labels": labels})))


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> Manifest:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": "c", "image": "i", "resources": resources}


def test_limit_range_gives_containers_what_they_lack_and_says_so(server: ApiServer) -> None:
    item = {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "1m"}}
    done(server, limits(item))
    answer = made(server, pod(containers=[container({"memory": "1Mi"})], initContainers=[{**container(), "name": "i"}]))
    assert answer["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1m", "memory": "1Mi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }
    assert answer["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c;"
        " cpu, memory request for init container i; cpu, memory limit for init container i"
    )


@cases(
    "item, spec, detail",
    ("container too large", {"type": "Container", "max": {"cpu": "2"}},
     {"containers": [container(limits={"cpu": "3"})]}, "maximum cpu usage per Container is 2, but limit is 3"),
    ("container too small", {"type": "Container", "min": {"cpu": "500m"}}, {"containers": [container({"cpu": "0.1"})]},
     "minimum cpu usage per Container is 500m, but request is 100m"),
    ("limit too far from request", {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
     {"containers": [container({"cpu": "1"}, {"cpu": "3"})]},
     "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
    ("containers together too large", {"type": "Pod", "max": {"cpu": "2"}},
     {"containers": [container(limits={"cpu": "1"}), {**container(limits={"cpu": "1500m"}), "name": "d"}]},
     "maximum cpu usage per Pod is 2, but limit is 2500m"),
    ("nothing said", {"type": "Pod", "min": {"memory": "1Gi"}}, {"containers": [container()]},
     "minimum memory usage per Pod is 1Gi.  No request is specified"),
)  # fmt: skip
def test_pod_outside_a_limit_range_is_refused(server: ApiServer, item: Manifest, spec: Manifest, detail: str) -> None:
    done(server, limits(item))
    assert refused(server, pod(**spec)).message == f'pods "p" is forbidden: {detail}'


def test_claim_outside_a_limit_range_is_refused(server: ApiServer) -> None:
    done(server, limits({"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}}))
    message = "maximum storage usage per PersistentVolumeClaim is 500Mi, but request is 1Gi"
    assert refused(server, claim()).message == f'persistentvolumeclaims "data" is forbidden: {message}'


def _two_after(server: ApiServer, version: str) -> tuple[int, int]:
    """The two positions after that of a version."""
    position = next(position for position in range(100) if server.store.version_of(position) == version)
    return position + 1, position + 2


def test_quota_is_charged_before_the_object_is_stored(server: ApiServer) -> None:
    quota(server, {"pods": "2", "requests.cpu": "3"})
    before = stored(server, QUOTA)["metadata"]["resourceVersion"]
    answer = made(server, pod())
    assert used(server) == {"pods": "1", "requests.cpu": "1"}
    versions = [one["metadata"]["resourceVersion"] for one in (stored(server, QUOTA), answer, stored(server))]
    charged, made_at = (server.store.version_of(position) for position in _two_after(server, before))
    assert versions == [charged, made_at, made_at]


def test_quota_refuses_what_would_exceed_it_and_is_not_charged(server: ApiServer) -> None:
    quota(server, {"pods": "5", "requests.cpu": "1500m"}, {"pods": "1", "requests.cpu": "1"})
    status = refused(server, pod())
    assert status.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1,'
        " limited: requests.cpu=1500m"
    )
    assert (status.code, used(server)) == (403, {"pods": "1", "requests.cpu": "1"})


def test_one_batch_cannot_exceed_a_quota(server: ApiServer) -> None:
    quota(server, {"pods": "2"})
    answers = server.carry_out([pod(name) for name in ("a", "b", "c")], NOW)
    assert [isinstance(answer, Outcome) for answer in answers] == [True, True, False]
    assert used(server) == {"pods": "2"}


def test_dry_run_charges_nothing(server: ApiServer) -> None:
    quota(server, {"pods": "1"})
    server.carry_out([pod()], NOW, dry_run=True)
    assert used(server) == {"pods": "0"}


def test_quota_of_cpu_demands_that_containers_say_what_they_need(server: ApiServer) -> None:
    quota(server, {"requests.cpu": "1", "limits.memory": "1Gi"})
    message = refused(server, pod(containers=[container(), {**container({"cpu": "1"}), "name": "d"}])).message
    assert message == 'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c,d; requests.cpu for: c'


def test_quota_that_nobody_counted_yet_refuses(server: ApiServer) -> None:
    quota(server, {"pods": "1", "configmaps": "1"}, used={})
    assert refused(server, pod()).message == 'pods "p" is forbidden: status unknown for quota: q, resources: pods'


@cases(
    "scope, spec, counts",
    ("asks for nothing", "BestEffort", {"containers": [container()]}, True),
    ("asks for something, and best effort is counted", "BestEffort", {}, False),
    ("asks for something", "NotBestEffort", {}, True),
    ("has a deadline", "Terminating", {"activeDeadlineSeconds": 9}, True),
    ("has none, and deadlines are counted", "Terminating", {}, False),
    ("has no deadline", "NotTerminating", {}, True),
    ("has a class", "PriorityClass", {"priorityClassName": "system-node-critical"}, True),
    ("has no class", "PriorityClass", {}, False),
)
def test_quota_counts_what_its_scope_selects(server: ApiServer, scope: str, spec: Manifest, counts: bool) -> None:
    quota(server, {"pods": "5"}, scopes=[scope])
    done(server, pod(**spec))
    assert used(server) == {"pods": "1" if counts else "0"}


def test_quota_counts_objects_and_growth_of_claims(server: ApiServer) -> None:
    quota(server, {"count/persistentvolumeclaims": "1", "requests.storage": "3Gi"})
    done(server, Create(written("StorageClass", "s", provisioner="p", allowVolumeExpansion=True)))
    manifest = claim().manifest
    done(server, Create({**manifest, "spec": {**manifest["spec"], "storageClassName": "s"}}))
    done(server, Patch(CLAIM, {"status": {"phase": "Bound"}}, subresource="status"))
    done(server, Patch(CLAIM, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}))
    assert used(server) == {"count/persistentvolumeclaims": "1", "requests.storage": "2Gi"}
    assert refused(server, Patch(CLAIM, {"spec": {"resources": {"requests": {"storage": "4Gi"}}}})).code == 403
    other = {**manifest, "metadata": {"name": "other"}}
    assert "exceeded quota: q, requested: count/persistentvolumeclaims=1" in refused(server, Create(other)).message


def test_claim_grows_only_where_its_class_allows_it(server: ApiServer) -> None:
    grown = Patch(CLAIM, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    done(server, claim())
    assert refused(server, grown).code == 422
    done(server, Patch(CLAIM, {"status": {"phase": "Bound"}}, subresource="status"))
    assert "must support resize" in refused(server, grown).message


def test_namespace_lets_in_what_its_standard_allows(server: ApiServer) -> None:
    space(server, {ENFORCE: "baseline"})
    privileged = {**container(), "securityContext": {"privileged": True}}
    status = refused(server, pod(hostNetwork=True, containers=[privileged]))
    assert status.message == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true),'
        ' privileged (container "c" must not set securityContext.privileged=true)'
    )
    assert done(server, pod()).warnings == ()


def test_namespace_warns_of_pods_and_templates(server: ApiServer) -> None:
    space(server, {WARN: "baseline"})
    text = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    assert done(server, pod(hostPID=True)).warnings == (text,)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"hostPID": True, "containers": [container()]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert done(server, Create(written("ReplicaSet", "r", spec=spec))).warnings == (text,)


def test_stricter_namespace_warns_of_the_pods_it_has(server: ApiServer) -> None:
    space(server, {})
    for name in ("a", "b"):
        done(server, pod(name, hostPID=True))
    outcome = done(server, Patch(SPACE, {"metadata": {"labels": {ENFORCE: "baseline"}}}))
    assert outcome.warnings == (
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 1 other pod): host namespaces",
    )
    assert refused(server, Patch(SPACE, {"metadata": {"labels": {WARN: "much"}}})).code == 422


def test_image_of_a_running_pod_is_checked_again(server: ApiServer) -> None:
    space(server, {})
    done(server, pod(hostPID=True))
    done(server, Patch(SPACE, {"metadata": {"labels": {ENFORCE: "baseline"}}}))
    done(server, Patch(POD, {"metadata": {"labels": {"a": "b"}}}))
    image = {"spec": {"containers": [{"name": "c", "image": "new"}]}}
    assert refused(server, Patch(POD, image, PatchType.STRATEGIC)).code == 403


def test_devices_in_use_are_for_claims_of_namespaces_that_say_so(server: ApiServer) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}
    manifest = written("ResourceClaim", "w", spec={"devices": {"requests": [request]}})
    space(server, {})
    assert "spec.devices.requests[0].adminAccess: Forbidden" in refused(server, Create(manifest)).message
    done(server, Patch(SPACE, {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}))
    done(server, Create(manifest))


def test_second_default_class_is_refused_when_it_is_changed_too(server: ApiServer) -> None:
    done(server, Create(written("PriorityClass", "a", value=1, globalDefault=True)))
    done(server, Create(written("PriorityClass", "b", value=1)))
    key = ObjectKey("PriorityClass", "", "b")
    message = "PriorityClass a is already marked as default. Only one default can exist"
    whole = written("PriorityClass", "b", value=1, globalDefault=True)
    for request in (Patch(key, {"globalDefault": True}), Update(key, whole)):
        assert refused(server, request).message == f'priorityclasses.scheduling.k8s.io "b" is forbidden: {message}'


def test_invalid_object_is_told_before_its_namesake(server: ApiServer) -> None:
    done(server, pod())
    assert refused(server, pod(restartPolicy="Sometimes")).code == 422
    assert refused(server, pod()).code == 409
