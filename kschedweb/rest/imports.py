"""Imports: cluster state from files, at once or as work to come back for."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, require
from kschedweb.cluster import selectors, services, uploading
from kschedweb.cluster.choices import ImportStatus, LifecycleMode
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import Accepted, Created, RestView
from kschedweb.rest.inputs import given
from kschedweb.views import view_of


class ImportListView(RestView):
    access = {"POST": Role.OPERATOR}
    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"
    parser_classes = [MultiPartParser, uploading.RawParser]

    class Input(serializers.Serializer[Any]):
        replace = serializers.BooleanField(default=False)
        partial = serializers.BooleanField(default=False)  # type: ignore[assignment]
        admission = serializers.ChoiceField(["auto", "always", "never"], default="auto")
        lifecycle = serializers.ChoiceField([*LifecycleMode.values, ""], default="", source="lifecycle_mode")

        class Meta:
            ref_name = "ImportOptions"

    @extend_schema(
        parameters=[Input, OpenApiParameter("filename", str, description="names a raw body in messages")],
        request={"application/octet-stream": OpenApiTypes.BINARY, "multipart/form-data": OpenApiTypes.OBJECT},
    )
    def post(self, request: Request, cluster_id: int) -> Created[views.Import] | Accepted[views.Import]:
        """Load cluster state: kubectl output in JSON or YAML, or the openb CSV files, gzipped or not.

        What is too large to be done at once is accepted: the header Location says where to ask for it.
        """
        uploads = uploading.uploads_of(request)
        options = given(self.Input, uploading.options_of(request))
        if options["lifecycle_mode"]:
            require(request, cluster_id, Role.ADMIN)  # as for PATCH of the cluster
        done = services.import_take(
            cluster_id=cluster_id,
            uploads=uploads,
            options=services.ImportOptions(**options),
            actor=actor(request),
        )
        headers = {"Location": reverse("import", args=[cluster_id, done.pk])}
        answer = Created if done.status == ImportStatus.DONE else Accepted
        return answer(view_of(views.Import, done), headers)


class ImportDetailView(RestView):
    def get(self, request: Request, cluster_id: int, import_id: UUID) -> views.Import:
        """Read an import and how far it is."""
        return view_of(views.Import, selectors.import_get(cluster_id=cluster_id, import_id=import_id))
