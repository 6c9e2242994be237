"""Routes that show the present, and with `at` the past: what they read from, and which moment they answer for."""

from collections.abc import Iterator
from contextlib import contextmanager

from kschedweb import views
from kschedweb.rest.answers import RestView
from kschedweb.scheduling.past import asking
from kschedweb.scheduling.past.standing import Standing
from kschedweb.views import given
from scheduler_core.api.times import moment_of


class StandingView(RestView):
    of_objects = False  # whether nothing is asked of the scheduler: such an answer there is also where none can be made

    @contextmanager
    def standing(self, cluster_id: int, query: views.AtQuery) -> Iterator[Standing]:
        """The cluster at the moment that is asked for; an answer about the past says which one that is."""
        at = given(query).get("at")
        with asking.standing(cluster_id, at, of_objects=self.of_objects) as found:
            if at is not None:
                self.headers[asking.POSITION] = f"{found.cursor.rv}.{found.cursor.seq}"
                self.headers[asking.TIME] = moment_of(found.now).isoformat()
            yield found
