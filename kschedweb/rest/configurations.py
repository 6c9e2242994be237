"""Scheduler configurations of a cluster: the one in force, and all there were."""

from collections.abc import Sequence

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kschedweb import views
from kschedweb.accounts.permissions import actor
from kschedweb.cluster import configuration, selectors, services, uploading
from kschedweb.cluster.models import SchedulerConfigVersion
from kschedweb.common.pagination import KeysetPagination
from kschedweb.common.throttling import UploadThrottle
from kschedweb.rest.answers import RestView
from kschedweb.scheduling.selectors import engine_version
from kschedweb.views import view_of

BODIES = {"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT}


class SchedulerConfigView(RestView):
    """The configuration the cluster is scheduled by: a KubeSchedulerConfiguration as YAML or JSON."""

    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"  # each is built and checked, which costs about as much
    parser_classes = [uploading.RawParser]
    holds_secrets = True  # keys of extenders: never compressed

    def get(self, request: Request, cluster_id: int) -> views.SchedulerConfig:
        """Read the configuration in force."""
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(request=BODIES)
    def put(self, request: Request, cluster_id: int) -> views.SchedulerConfig:
        """Replace the configuration from the next step on.

        An empty body means the defaults. A refusal lists every problem.
        """
        content = uploading.content_of(request, configuration.MAX_TEXT_BYTES)
        with uploading.PUTTING.one():
            services.scheduler_config_set(cluster_id=cluster_id, content=content, actor=actor(request))
        return _config(selectors.scheduler_config_version(cluster_id))

    @extend_schema(request=BODIES)
    def post(self, request: Request, cluster_id: int) -> views.SchedulerConfig:
        """Replace the configuration, like PUT."""
        return self.put(request, cluster_id)


class SchedulerConfigCheckView(RestView):
    throttle_classes = [UploadThrottle]
    throttle_scope = "imports"
    parser_classes = [uploading.RawParser]
    holds_secrets = True

    @extend_schema(request=BODIES)
    def post(self, request: Request, cluster_id: int) -> views.CheckedConfig:
        """Check a configuration without using it: all problems, or the text in full and what would change.

        An empty body means the defaults.
        """
        cluster = selectors.cluster_get(cluster_id)
        content = uploading.content_of(request, configuration.MAX_TEXT_BYTES)
        with uploading.PUTTING.one():
            return configuration.checked(content, cluster.scheduler_config, of_mirror=cluster.is_mirror)


class ConfigVersionPagination(KeysetPagination):
    ordering = "-version"


class SchedulerConfigVersionListView(RestView):
    def get(self, request: Request, cluster_id: int, page: views.PageQuery) -> views.SchedulerConfigVersionPage:
        """List the configurations the cluster has had, newest first."""
        versions = selectors.scheduler_config_versions(cluster_id)
        return ConfigVersionPagination(page).page_of(
            views.SchedulerConfigVersionPage,
            versions,
            request,
            lambda version: view_of(views.SchedulerConfigVersion, version),
        )


class SchedulerConfigVersionView(RestView):
    holds_secrets = True

    def get(self, request: Request, cluster_id: int, version: int) -> views.SchedulerConfig:
        """Read one configuration the cluster has had."""
        return _config(selectors.scheduler_config_version(cluster_id, version))


def _config(found: SchedulerConfigVersion) -> views.SchedulerConfig:
    effective: views.EffectiveConfig | None = None
    problems: Sequence[views.ConfigProblem] = ()
    try:
        effective = configuration.effective(found.text, of_mirror=found.cluster.is_mirror, is_stored=True)
    except configuration.ConfigInvalidError as error:
        problems = error.problems
    before = selectors.scheduler_config_before(found)
    return views.SchedulerConfig(
        version=found.version,
        replayable=found.replayable,
        actor=found.actor,
        at=found.at,
        text=found.text,
        complete=configuration.complete(found.text),
        effective=effective,
        problems=problems,
        changes=None if before is None else configuration.difference(before.text, found.text),
        is_in_use=engine_version(found.cluster_id) == found.version,
    )
