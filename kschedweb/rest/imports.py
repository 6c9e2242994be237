"""Imports: cluster state from files, at once or as work to come back for."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.choices import Role
from kschedweb.accounts.permissions import actor, require
from kschedweb.cluster import selectors, services, uploading
from kschedweb.cluster.choices import ImportStatus
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import Accepted, Created, RestView
from kschedweb.views import view_of


class ImportListView(RestView):
    access = {"POST": Role.OPERATOR}
    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"
    parser_classes = [MultiPartParser, uploading.RawParser]

    def query_of(self, request: Request) -> Mapping[str, Any]:
        return uploading.options_of(request)

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY, "multipart/form-data": OpenApiTypes.OBJECT},
    )
    def post(
        self, request: Request, cluster_id: int, query: views.ImportOptions
    ) -> Created[views.Import] | Accepted[views.Import]:
        """Load cluster state: kubectl output in JSON or YAML, or the openb CSV files, gzipped or not.

        Or a history (`history/export`), which makes a new cluster one that has it and goes on no more.
        What is too large to be done at once is accepted: the header Location says where to ask for it.
        """
        uploads = uploading.uploads_of(request)
        if query.lifecycle or any(received.is_history for received in uploads):
            require(request, cluster_id, Role.ADMIN)  # as for PATCH of the cluster: settings come with a history
        done = services.import_take(
            cluster_id=cluster_id,
            uploads=uploads,
            options=services.ImportOptions(
                admission=query.admission,
                replace=query.replace,
                partial=query.partial,
                lifecycle_mode=query.lifecycle,
            ),
            actor=actor(request),
        )
        headers = {"Location": reverse("import", args=[cluster_id, done.pk])}
        answer = Created if done.status == ImportStatus.DONE else Accepted
        return answer(view_of(views.Import, done), headers)


class ImportDetailView(RestView):
    def get(self, request: Request, cluster_id: int, import_id: UUID) -> views.Import:
        """Read an import and how far it is."""
        return view_of(views.Import, selectors.import_get(cluster_id=cluster_id, import_id=import_id))
