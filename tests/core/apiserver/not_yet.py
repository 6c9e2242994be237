"""Recorded scenarios in which the rules do not answer as the real API server yet, by family."""

from typing import Final

_FAMILIES: Final = {
    "create": """
        pod-sidecar pod-probes-tcp-grpc pod-probe-values pod-lifecycle pod-env pod-grace-negative
        pod-volumes-hostpath pod-volumes-configmap-secret pod-volumes-projected pod-volumes-rbd-iscsi
        node-allocatable node-notready-taint-present node-unschedulable node-conditions pvc-block
        pvc-datasource pvc-datasource-dropped pvc-beta-annotation pvc-attributesclass pv-csi pv-local
        pv-nfs-block pv-iscsi poddisruptionbudgets-minavailable poddisruptionbudgets-maxunavailable-pct
        poddisruptionbudgets-policy poddisruptionbudgets-empty priorityclasses-max priorityclasses-zero
        services-nodeport services-externalname services-headless-noports services-affinity
        replicationcontrollers-minimal deployments-recreate statefulsets-ondelete daemonsets-ondelete
        jobs-minimal jobs-parallel resourceclaims-exactly resourceclaims-all resourceclaimtemplates-two
        resourceslices-selector-taints deviceclasses-minimal csidrivers-minimal
        volumeattachments-status-ignored namespaces-minimal
    """,
    "update": """
        pod-assigned-a0 pod-assigned-a1 pod-assigned-a2 gated-term-add gated-term-prepend gated-term-swap
        gated-affinity-remove gated-nodename gates-removal-a gated-noaffinity-a pv service replicaset job
        limitrange claim claimtemplate slice deviceclass csidriver capacity namespace
    """,
    "patch": """
        merge-wrong-type merge-invalid-value smp-container-delete smp-wrong-type smp-env-nested
        json-replace-missing conflicting-noop deployment-smp deployment-strategy service-ports node-taints-smp
    """,
    "delete": """
        poddisruptionbudgets resourceclaims replicationcontrollers
    """,
    "eviction": """
        allowed pdb-stale-generation unready-unhealthy-budget max-unavailable disrupted-pods-known
    """,
    "locking": """
        nodes persistentvolumeclaims
    """,
}

NOT_YET: Final = frozenset(f"{family}/{name}" for family, names in _FAMILIES.items() for name in names.split())
