"""The scheduler's cache, as it is and as it was."""

from rest_framework.request import Request

from kschedweb import views
from kschedweb.rest.answers import RestView
from kschedweb.scheduling.past import asking
from kschedweb.scheduling.past.caching import cache_view
from kschedweb.views import given
from scheduler_core.api.times import moment_of


class CacheView(RestView):
    def get(self, request: Request, cluster_id: int, query: views.CacheQuery) -> views.SchedulerCache:
        """Read the scheduler's cache: pods assumed and confirmed, generations of nodes, what the last snapshot changed.

        The engine is made again for it, also where it is now: refused with 409 where it cannot be, as of a mirror, with
        410 where the moment has been cleared away, with 429 where four requests are in the past already.
        """
        asked = given(query)
        at = asked.get("at")
        with asking.engine(cluster_id, at) as found:
            if at is not None:
                self.headers[asking.POSITION] = str(found.position)
                self.headers[asking.TIME] = moment_of(found.at).isoformat()
            return cache_view(found, sought=asked.get("find", ""), most_pods=query.limit)
