"""Scheduler configurations of a cluster: the one in force, and all there were."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.permissions import actor
from kschedweb.cluster import configuration, selectors, services, uploading
from kschedweb.cluster.models import SchedulerConfigVersion
from kschedweb.common.errors import InvalidError
from kschedweb.common.pagination import KeysetPagination
from kschedweb.common.rendering import OrjsonRenderer
from kschedweb.common.throttling import UploadThrottle


class ConfigVersionOutput(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    replayable = serializers.BooleanField(help_text="whether every plugin declared itself deterministic")
    actor = serializers.CharField()
    at = serializers.DateTimeField()

    class Meta:
        ref_name = "SchedulerConfigVersion"


class EffectiveOutput(serializers.Serializer[Any]):
    class ProfileSerializer(serializers.Serializer[Any]):
        class PointSerializer(serializers.Serializer[Any]):
            class PluginSerializer(serializers.Serializer[Any]):
                name = serializers.CharField()
                weight = serializers.IntegerField(allow_null=True)

                class Meta:
                    ref_name = "EffectivePlugin"

            point = serializers.CharField()
            plugins = PluginSerializer(many=True)

            class Meta:
                ref_name = "EffectivePoint"

        scheduler_name = serializers.CharField()
        percentage_of_nodes_to_score = serializers.IntegerField()
        points = PointSerializer(many=True)
        left_out = serializers.ListField(child=serializers.CharField())
        not_deterministic = serializers.ListField(child=serializers.CharField())
        replayable = serializers.BooleanField()

        class Meta:
            ref_name = "EffectiveProfile"

    pod_initial_backoff_seconds = serializers.IntegerField()
    pod_max_backoff_seconds = serializers.IntegerField()
    replayable = serializers.BooleanField()
    profiles = ProfileSerializer(many=True)

    class Meta:
        ref_name = "EffectiveConfig"


class ConfigDetailOutput(ConfigVersionOutput):
    text = serializers.CharField()
    effective = EffectiveOutput(
        allow_null=True, help_text="null when it can no longer be used: see problems (a plugin may be gone)"
    )
    problems = serializers.ListField(child=serializers.CharField())

    class Meta:
        ref_name = "SchedulerConfig"


class SchedulerConfigView(APIView):
    """The configuration the cluster is scheduled by: a KubeSchedulerConfiguration as YAML or JSON."""

    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"  # each is built and checked, which costs about as much
    parser_classes = [uploading.RawParser]
    renderer_classes = [OrjsonRenderer]
    holds_secrets = True  # keys of extenders: never compressed

    @extend_schema(responses=ConfigDetailOutput)
    def get(self, request: Request, cluster_id: int) -> Response:
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(
        request={"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT},
        responses=ConfigDetailOutput,
    )
    def put(self, request: Request, cluster_id: int) -> Response:
        """Replace it from the next step on; an empty body means the defaults. A refusal lists every problem."""
        content = uploading.content_of(request, configuration.MAX_TEXT_BYTES)
        with uploading.PUTTING.one():
            services.scheduler_config_set(cluster_id=cluster_id, content=content, actor=actor(request))
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(
        operation_id="clusters_scheduler_config_replace",
        request={"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT},
        responses=ConfigDetailOutput,
    )
    def post(self, request: Request, cluster_id: int) -> Response:
        """The same as PUT."""
        return self.put(request, cluster_id)


class ConfigVersionPagination(KeysetPagination):
    ordering = "-version"


class SchedulerConfigVersionListView(APIView):
    @extend_schema(
        operation_id="clusters_scheduler_config_versions_list",
        parameters=ConfigVersionPagination.parameters(),
        responses=inline_serializer(
            "SchedulerConfigVersionPage",
            {
                "results": ConfigVersionOutput(many=True),
                "next": serializers.CharField(allow_null=True),
                "previous": serializers.CharField(allow_null=True),
            },
        ),
    )
    def get(self, request: Request, cluster_id: int) -> Response:
        pages = ConfigVersionPagination()
        page = pages.paginate_queryset(selectors.scheduler_config_versions(cluster_id), request, view=self)
        return pages.get_paginated_response(ConfigVersionOutput(page or (), many=True).data)


class SchedulerConfigVersionView(APIView):
    renderer_classes = [OrjsonRenderer]
    holds_secrets = True

    @extend_schema(responses=ConfigDetailOutput)
    def get(self, request: Request, cluster_id: int, version: int) -> Response:
        return _config(selectors.scheduler_config_version(cluster_id, version))


def _config(found: SchedulerConfigVersion) -> Response:
    view = ConfigVersionOutput(found).data | {"text": found.text, "effective": None, "problems": []}
    try:
        view["effective"] = configuration.effective(found.text).as_dict()
    except InvalidError as error:
        view["problems"] = error.extra["problems"]
    return Response(view)
