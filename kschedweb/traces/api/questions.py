"""REST for questions over many attempts, one request each."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.cluster import selectors as cluster_selectors
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.traces import selectors
from kschedweb.traces.api import inputs, outputs


class NodeRefusalOutput(serializers.Serializer[Any]):
    pod_uid = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    seq = serializers.IntegerField(help_text="of the newest attempt in which it was refused")
    attempt = serializers.IntegerField()
    result = serializers.CharField(help_text="of that attempt: other nodes may have taken the pod")
    seen_at = serializers.DateTimeField()
    times = serializers.IntegerField(help_text="this attempt and its repeats")
    plugin = serializers.CharField()
    code = serializers.CharField(help_text=outputs.CODES_HELP)
    reasons = serializers.ListField(child=serializers.CharField())

    class Meta:
        ref_name = "NodeRefusal"


class NodeRefusalListView(APIView):
    renderer_classes = [OrjsonRenderer]

    class OutputSerializer(serializers.Serializer[Any]):
        refusals = NodeRefusalOutput(many=True)
        examined = serializers.IntegerField(help_text="matrices opened for this answer")
        before = serializers.IntegerField(allow_null=True, help_text="null: that is all; else where to go on")

        class Meta:
            ref_name = "NodeRefusals"

    @extend_schema(
        operation_id="clusters_refusals_list", parameters=[inputs.NodeRefusalInput], responses=OutputSerializer
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """Which pods were refused on a node, by a plugin and for a reason where given; each pod once, newest first."""
        cluster_selectors.cluster_get(cluster_id)
        values = inputs.given(inputs.NodeRefusalInput, request)
        node, limit, before = values.pop("node"), values.pop("limit"), values.pop("before")
        wanted = inputs.attempt_filter(values)
        return Response(asdict(selectors.node_refusals(cluster_id, node, wanted, limit=limit, before=before)))


class PendingReasonOutput(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    reason = serializers.CharField()
    pods = serializers.IntegerField()
    nodes = serializers.IntegerField(help_text="refused for it, over all these pods")
    examples = serializers.ListField(child=serializers.CharField(), help_text="keys of pods, longest waiting first")

    class Meta:
        ref_name = "PendingReason"


class PendingOutput(serializers.Serializer[Any]):
    pods = serializers.IntegerField(help_text="without a node")
    queues = serializers.DictField(child=serializers.IntegerField(), help_text="pods by where the scheduler keeps them")
    reasons = PendingReasonOutput(many=True)

    class Meta:
        ref_name = "Pending"


class PendingView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(parameters=[inputs.PendingInput], responses=PendingOutput)
    def get(self, request: Request, cluster_id: int) -> Response:
        """What pods without a node wait for: reasons of their last refusal by number of pods."""
        cluster_selectors.cluster_get(cluster_id)
        values = inputs.given(inputs.PendingInput, request)
        return Response(asdict(selectors.pending_summary(cluster_id, **values)))


class PendingPodListView(APIView):
    renderer_classes = [OrjsonRenderer]

    class OutputSerializer(serializers.Serializer[Any]):
        class PodSerializer(serializers.Serializer[Any]):
            pod_uid = serializers.CharField()
            namespace = serializers.CharField()
            name = serializers.CharField()
            created_at = serializers.DateTimeField()
            seq = serializers.IntegerField(help_text="of its last attempt")
            attempt = serializers.IntegerField()
            seen_at = serializers.DateTimeField()
            message = serializers.CharField(allow_blank=True)
            nodes = serializers.IntegerField(help_text="refused for what was asked")

            class Meta:
                ref_name = "PendingPod"

        pods = PodSerializer(many=True)

        class Meta:
            ref_name = "PendingPods"

    @extend_schema(
        operation_id="clusters_pending_pods_list", parameters=[inputs.PendingPodInput], responses=OutputSerializer
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """The pods without a node that were last refused so, longest waiting first."""
        cluster_selectors.cluster_get(cluster_id)
        values = inputs.given(inputs.PendingPodInput, request)
        return Response({"pods": [asdict(pod) for pod in selectors.pending_pods(cluster_id, **values)]})


class SlowestView(APIView):
    renderer_classes = [OrjsonRenderer]

    @extend_schema(
        operation_id="clusters_slowest_list",
        parameters=[inputs.SlowestInput],
        responses={200: outputs.AttemptOutput(many=True)},
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        """The cycles that took longest, with what each phase took."""
        cluster_selectors.cluster_get(cluster_id)
        values = inputs.given(inputs.SlowestInput, request)
        limit = values.pop("limit")
        found = selectors.slowest_attempts(cluster_id, inputs.attempt_filter(values))[:limit]
        return Response(outputs.AttemptOutput(found, many=True).data)
