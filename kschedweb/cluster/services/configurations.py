"""A cluster's scheduler configuration: versions that are only added to, the newest being the one in force."""

from django.db import transaction

from kschedweb.cluster import configuration, selectors
from kschedweb.cluster.models import Cluster, SchedulerConfigVersion
from kschedweb.cluster.services.clusters import record_setting
from kschedweb.common import wake
from kschedweb.common.errors import ClusterGoneError, InvalidError


def scheduler_config_set(*, cluster_id: int, content: bytes, actor: str, is_stored: bool = False) -> Cluster:
    """Let the cluster be scheduled by another configuration from the next step on; nothing means the defaults.

    InvalidError lists every problem. The text in force, given again, changes nothing. `is_stored`: it is the text of
    another cluster, checked by whatever release.
    """
    selectors.cluster_check_lives(cluster_id)
    of_mirror = selectors.cluster_get(cluster_id).is_mirror
    effective = configuration.effective(content, of_mirror=of_mirror, is_stored=is_stored)
    try:
        text = content.decode() if content.strip() else ""
    except UnicodeDecodeError as error:
        raise InvalidError(f"the configuration is not UTF-8 text: {error}") from error
    with transaction.atomic():
        cluster = Cluster.objects.select_for_update().filter(pk=cluster_id).first()
        if cluster is None:
            raise ClusterGoneError(cluster_id)
        if cluster.scheduler_config == text:
            return cluster
        cluster.scheduler_config = text
        cluster.config_version += 1
        cluster.profiles = [profile.scheduler_name for profile in effective.profiles]
        cluster.save(update_fields=["scheduler_config", "config_version", "profiles"])
        SchedulerConfigVersion.objects.create(
            cluster=cluster, version=cluster.config_version, text=text, replayable=effective.replayable, actor=actor
        )
        record_setting(cluster, actor)
        wake.after_commit("scheduling.ensure_leader", cluster_id=cluster_id)
    return cluster
