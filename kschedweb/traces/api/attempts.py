"""REST over attempts: lists, one with its matrix, searches for victims, and events."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.pagination import KeysetPagination
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.traces import selectors
from kschedweb.traces.api import inputs, outputs
from kschedweb.traces.models import Attempt


class NewestFirst(KeysetPagination):
    ordering = "-seq"


class FewNewestFirst(NewestFirst):
    """Each row opens a matrix."""

    page_size = 20
    max_page_size = 100


class EventPagination(KeysetPagination):
    ordering = "-id"


class AttemptListView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="clusters_attempts_list",
        parameters=[inputs.AttemptInput, *NewestFirst.parameters()],
        responses=outputs.AttemptPage,
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """The cluster's attempts, the newest first."""
        cluster_selectors.cluster_get(cluster_id)
        wanted = inputs.attempt_filter(inputs.given(inputs.AttemptInput, request))
        pages = NewestFirst()
        page = pages.paginate_queryset(selectors.attempts(cluster_id, wanted), request, view=self)
        return pages.get_paginated_response(outputs.AttemptOutput(page or (), many=True).data)


class PodAttemptListView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="clusters_pods_attempts_list",
        parameters=NewestFirst.parameters(),
        responses=outputs.AttemptPage,
    )
    def get(self, request: Request, cluster_id: int, namespace: str, name: str) -> Response:
        """The pod's attempts, the newest first."""
        pages = NewestFirst()
        page = pages.paginate_queryset(selectors.pod_attempts(cluster_id, namespace, name), request, view=self)
        return pages.get_paginated_response(outputs.AttemptOutput(page or (), many=True).data)


class AttemptView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(parameters=[inputs.MatrixInput], responses=outputs.AttemptDetailOutput)
    def get(self, request: Request, cluster_id: int, seq: int) -> Response:
        """One attempt with a page of its matrix: what each node was told and scored."""
        query = inputs.matrix_query(request)
        attempt = selectors.attempt_get(cluster_id, seq)
        told: dict[str, Any] = {
            "seed": selectors.attempt_seed(attempt),
            "digest": bytes(attempt.digest).hex(),
            "matrix": selectors.attempt_matrix(attempt, query),
        }
        return Response({**outputs.AttemptOutput(attempt).data, **told})


class AttemptPreemptionView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(parameters=[inputs.PreemptionInput], responses=outputs.PreemptionSearchOutput)
    def get(self, request: Request, cluster_id: int, seq: int) -> Response:
        """The attempt's search for victims with a page of its nodes: candidates with victims, refused ones with why."""
        query = inputs.preemption_query(request)
        return Response(selectors.attempt_preemption(selectors.attempt_get(cluster_id, seq), query))


class PreemptionListView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="clusters_preemptions_list",
        parameters=[inputs.AttemptInput, *FewNewestFirst.parameters()],
        responses=outputs.page_of(outputs.PreemptionAttemptOutput, "PreemptionAttempt"),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """Searches for victims, the newest first: how many candidates, what decided, the victims in order."""
        cluster_selectors.cluster_get(cluster_id)
        wanted = inputs.attempt_filter(inputs.given(inputs.AttemptInput, request))
        pages = FewNewestFirst()
        page = pages.paginate_queryset(selectors.preemptions(cluster_id, wanted), request, view=self)
        found = selectors.preemption_details(page or [])
        return pages.get_paginated_response([preemption_row(attempt, detail) for attempt, detail in found])


class EventListView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="clusters_events_list",
        parameters=[inputs.EventInput, *EventPagination.parameters()],
        responses=outputs.page_of(outputs.EventOutput, "Event"),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """The events told to users, the newest first."""
        cluster_selectors.cluster_get(cluster_id)
        pages = EventPagination()
        found = selectors.events(cluster_id, inputs.event_filter(request))
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(outputs.EventOutput(page or (), many=True).data)


def preemption_row(attempt: Attempt, detail: dict[str, Any] | None) -> dict[str, Any]:
    """PreemptionAttemptOutput of an attempt."""
    return {
        "seq": attempt.seq,
        "pod_uid": attempt.pod_uid,
        "namespace": attempt.namespace,
        "name": attempt.name,
        "attempt": attempt.attempt,
        "started_at": attempt.started_at,
        "nominated_node_name": attempt.nominated_node_name,
        "preemption": attempt.preemption,
        "detail": detail,
    }
