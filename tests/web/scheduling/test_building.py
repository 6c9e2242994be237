"""What an engine is built from is told to whoever reads the log."""

from structlog.testing import capture_logs

from kschedweb.scheduling.runner.building import reuse_tell
from tests.core.scheduler.harness import FilteringPlugin, ToldPlugins, profile, start


def test_plugins_that_end_reuse_are_named_once_for_each_profile() -> None:
    plugins = ToldPlugins().add("F", FilteringPlugin)
    silent = start(profile("F", "NodeName"), plugins=plugins).scheduler
    with capture_logs() as lines:
        reuse_tell(cluster_id=7, engine=silent)
        reuse_tell(cluster_id=8, engine=start().scheduler)
    assert lines == [
        {
            "event": "plugins without depends_on end reuse", "log_level": "warning", "cluster": 7,
            "profile": "default-scheduler", "plugins": "F",
        }
    ]  # fmt: skip
