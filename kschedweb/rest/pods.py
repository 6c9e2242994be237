"""Pods: one with its manifest, its attempts and history, which ones are pending, why, and what would make one fit."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import msgspec
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import devices, in_vain, pod_details, uploading
from kschedweb.cluster import services as cluster_services
from kschedweb.cluster.intake import files, limits, objects
from kschedweb.common.errors import InvalidError, NotFoundError
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import RestView
from kschedweb.rest.attempts import NewestFirst
from kschedweb.rest.past import StandingView
from kschedweb.scheduling.past import asking, telling
from kschedweb.scheduling.past.applying import Applied, fit_apply, owner_fit_apply
from kschedweb.scheduling.past.evicted import pod_evicted
from kschedweb.scheduling.past.fitting import FitsTold, manifest_fits, owner_fits, pod_fits
from kschedweb.scheduling.past.pending import pod_why
from kschedweb.traces import selectors
from kschedweb.views import given
from scheduler_core.apiserver.printing.pods import pod_state


class PodView(StandingView):
    access = {"DELETE": Role.OPERATOR}
    holds_secrets = True  # people write them into the environment of containers: never compressed

    def get(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.AtQuery
    ) -> views.PodDetail:
        """Read a pod's manifest and where the scheduler keeps it."""
        with self.standing(cluster_id, query) as shown:
            pod = shown.pod(namespace, name)
            state = pod_state(pod.manifest, shown.now)
            return views.PodDetail(
                rv=pod.rv,
                manifest=pod.manifest,
                requests=pod.requests,
                queue=shown.queue_of(pod),
                claims=devices.pod_claims(pod, shown.related),
                status=state.word,
                ready=state.ready,
                containers=state.containers,
                restarts=state.restarts,
                owners=pod_details.pod_owners(pod, shown.related),
                qos=pod_details.pod_quality(pod),
                on_node=pod_details.pod_on_node(pod, shown.related),
                known_limits=pod_details.pod_known_limits(pod),
                in_vain=in_vain.of_pod(pod.manifest, shown.related, frozen=shown.is_frozen),
            )

    def delete(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.PodDelete
    ) -> views.PodDeletion:
        """Delete a pod gracefully; `gone` says whether it was removed at once."""
        gone = cluster_services.pod_delete(
            cluster_id=cluster_id,
            namespace=namespace,
            name=name,
            actor=actor(request),
            **given(query),
        )
        return views.PodDeletion(gone)


class PodEvictionView(RestView):
    access = {"POST": Role.OPERATOR}

    def post(
        self, request: Request, cluster_id: int, namespace: str, name: str, body: views.PodEvict
    ) -> views.PodDeletion:
        """Evict a pod, if disruption budgets allow it; `gone` says whether it was removed at once."""
        gone = cluster_services.pod_evict(
            cluster_id=cluster_id, namespace=namespace, name=name, actor=actor(request), **given(body)
        )
        return views.PodDeletion(gone)


class PodAttemptListView(StandingView):
    def get(
        self,
        request: Request,
        cluster_id: int,
        namespace: str,
        name: str,
        query: views.PodAttemptQuery,
        page: views.PageQuery,
    ) -> views.AttemptPage:
        """List the pod's attempts, newest first."""
        pages, number = NewestFirst(page), query.attempt if isinstance(query.attempt, int) else None
        with self.standing(cluster_id, query) as shown:
            rows = pages.paginate_queryset(shown.pod_attempts(namespace, name, number), request) or []
            return pages.page_with(views.AttemptPage, list(map(selectors.attempt_view, shown.attempts_as_told(rows))))


class PodHistoryView(StandingView):
    def get(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.HistoryQuery
    ) -> views.PodHistory:
        """List what happened to the pod: queues, attempts, assumed and forgotten, waits, bindings, evictions."""
        with self.standing(cluster_id, query) as shown:
            uid = shown.pod_uid(namespace, name)
            if uid is None:
                raise NotFoundError("no pod of this name is there or was ever tried", namespace=namespace, name=name)
            return views.PodHistory(uid, shown.pod_history(uid, query.limit))


class PodWhyView(RestView):
    def get(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.PodWhyQuery
    ) -> views.PodWhy:
        """Say why a pod has no node: what keeps it from nodes, what it waits for, and since which change.

        Its last attempt is made again, and the pod is tried at positions of the change log, up to 20 seconds. Refused
        with 410 where that moment has been cleared away, with 429 where four requests are in the past already; with
        `again=false` the record alone answers. 422 for a pod that has a node.
        """
        with asking.turn() if query.again else nullcontext():
            told = pod_why(cluster_id=cluster_id, namespace=namespace, name=name, **given(query))
        return telling.pod_why_view(told)


class PodEvictedView(RestView):
    def get(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.PodEvictedQuery
    ) -> views.PodEvicted:
        """Say why a pod was evicted: who had it deleted, and of a preemption what each node would have cost.

        Also of pods that are gone. The preemptor's attempt is made again, which is refused as by `again` of an attempt;
        with `again=false` its record answers. 404 where no pod of the name is leaving or left.
        """
        with asking.turn() if query.again else nullcontext():
            told = pod_evicted(
                cluster_id=cluster_id, namespace=namespace, name=name, uid=query.uid or "", again=query.again
            )
        return telling.pod_evicted_view(told, query.limit)


class PodFitsView(RestView):
    access = {"POST": Role.OPERATOR}

    def get(
        self, request: Request, cluster_id: int, namespace: str, name: str, query: views.FitsQuery
    ) -> views.PodFits:
        """Say what would make a pod fit: the smallest changes, each tried by a cycle, the cheapest first.

        It is tried on what is stored now, or was `at` a moment. 422 for a pod that has a node or that this scheduler
        does not try, 503 where another such question is being answered, 429 where four requests are in the past.
        """
        told = pod_fits(cluster_id=cluster_id, namespace=namespace, name=name, **_wanted(query))
        return _fits(self, told)

    def post(
        self, request: Request, cluster_id: int, namespace: str, name: str, body: views.FitApply
    ) -> views.FitApplied:
        """Carry out what would make a pod fit, by requests to the API server, all in one transaction.

        It is tried again before: 409 where it is not what would make the pod fit any more, and `field` of `extra` is
        what differs. A pod whose spec changes is deleted and created; 422 where a controller makes it, and for what is
        not written here.
        """
        applied = fit_apply(
            cluster_id=cluster_id,
            namespace=namespace,
            name=name,
            uid=body.uid,
            wanted=[msgspec.to_builtins(each) for each in body.changes],
            dry_run=body.dry_run,
            actor=actor(request),
        )
        return _applied(applied)


class OwnerFitsView(RestView):
    access = {"POST": Role.OPERATOR}

    def get(
        self, request: Request, cluster_id: int, kind: str, namespace: str, name: str, query: views.FitsQuery
    ) -> views.PodFits:
        """Say what would let all pods of a workload that have no node be placed together, at most 100 of them.

        As for one pod; `places` says where each would be. 422 where none of its pods waits for a node.
        """
        told = owner_fits(cluster_id=cluster_id, kind=kind, namespace=namespace, name=name, **_wanted(query))
        return _fits(self, told)

    def post(
        self, request: Request, cluster_id: int, kind: str, namespace: str, name: str, body: views.FitOwnerApply
    ) -> views.FitApplied:
        """Carry out what would let all pods of a workload be placed together, as for one pod.

        422 for a change of the pods themselves, which is one of the workload's template.
        """
        applied = owner_fit_apply(
            cluster_id=cluster_id,
            kind=kind,
            namespace=namespace,
            name=name,
            wanted=[msgspec.to_builtins(each) for each in body.changes],
            dry_run=body.dry_run,
            actor=actor(request),
        )
        return _applied(applied)


class FitsView(RestView):
    access = {"POST": Role.VIEWER}  # nothing is stored
    throttle_classes = [UploadThrottle]
    throttle_scope = "objects"
    parser_classes = [uploading.RawParser]

    @extend_schema(request={"application/json": OpenApiTypes.OBJECT, "application/yaml": OpenApiTypes.STR})
    def post(self, request: Request, cluster_id: int, query: views.FitsQuery) -> views.PodFits:
        """Say whether a pod that is not in the cluster would get a node, and else what would make it fit.

        Takes the manifest of one pod, which is admitted as the API server would; nothing is stored.
        """
        bounds = limits.load()
        uploads = [replace(received, name="body") for received in uploading.uploads_of(request)]
        with uploading.PUTTING.one():
            if not files.is_small(uploads, bounds):
                raise ParseError("more than this is an import")
            items = objects.read([received.upload() for received in uploads], bounds).items
        if [item.kind for item in items] != ["Pod"]:
            raise InvalidError("expected the manifest of one Pod", found=[item.title for item in items[:10]])
        told = manifest_fits(cluster_id=cluster_id, manifest=items[0].manifest, **_wanted(query))
        return _fits(self, told)


def _applied(applied: Applied) -> views.FitApplied:
    return views.FitApplied(applied.node, [views.view_of(views.FitWrite, each) for each in applied.writes])


def _wanted(query: views.FitsQuery) -> dict[str, Any]:
    return {"costs": query.costs or "", "limit": query.limit, "at": given(query).get("at")}


def _fits(view: RestView, told: FitsTold) -> views.PodFits:
    """An answer about the past says which moment that is."""
    if told.then is not None:
        position, time = told.then
        view.headers[asking.POSITION], view.headers[asking.TIME] = str(position), time.isoformat()
    return telling.fits_view(told)


class PendingView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.PendingQuery) -> views.Pending:
        """Count the pods without a node by the reasons of their last rejection."""
        with self.standing(cluster_id, query) as shown:
            return shown.pending(query.limit)


class PendingPodListView(StandingView):
    def get(self, request: Request, cluster_id: int, query: views.PendingPodQuery) -> views.PendingPods:
        """List pods without a node that were last rejected for a reason, longest pending first."""
        with self.standing(cluster_id, query) as shown:
            return views.PendingPods(shown.pending_pods(query.plugin or "", query.reason or "", query.limit))
