"""How far the decisions of a mirrored cluster's scheduler agree with ours."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from kschedweb import views
from kschedweb.cluster.adapters import milliseconds
from kschedweb.common import bulk
from kschedweb.traces.choices import Agreement
from kschedweb.traces.models import Comparison

_TABLE = Comparison._meta.db_table
MOST_NAMED = 20  # plugins


def agreement(cluster_id: int, *, since: datetime, until: datetime, points: int) -> views.AgreementSummary:
    """Count the decisions in [since, until), by profile and over time."""
    seconds = max(1, math.ceil((until - since).total_seconds() / points))
    rows = bulk.read_rows(
        "SELECT (floor(extract(epoch FROM at) / %s) * %s)::bigint AS span, profile, outcome, count(*)"
        f" FROM {_TABLE} WHERE cluster_id = %s AND at >= %s AND at < %s GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        [seconds, seconds, cluster_id, since, until],
    )
    all_counts: Counter[str] = Counter()
    of_profiles: dict[str, Counter[str]] = {}
    of_spans: dict[tuple[int, str], Counter[str]] = {}
    for span, profile, outcome, count in rows:
        all_counts[outcome] += count
        of_profiles.setdefault(profile, Counter())[outcome] += count
        of_spans.setdefault((span, profile), Counter())[outcome] += count
    differed = Comparison.objects.filter(
        cluster_id=cluster_id, at__gte=since, at__lt=until, outcome=Agreement.DIFFERED
    ).order_by()
    return views.AgreementSummary(
        since_ms=milliseconds(since),
        until_ms=milliseconds(until),
        seconds=seconds,
        counts=_counts(all_counts),
        rate=_rate(all_counts),
        profiles=[
            views.AgreementProfile(profile=profile, counts=_counts(counts), rate=_rate(counts))
            for profile, counts in sorted(of_profiles.items())
        ],
        points=[
            views.AgreementPoint(at_ms=span * 1000, profile=profile, counts=_counts(counts))
            for (span, profile), counts in of_spans.items()
        ],
        causes=_numbers(differed, "cause"),
        plugins=_numbers(differed, "plugin"),
    )


def comparisons(cluster_id: int, *, since: datetime | None = None, until: datetime | None = None,
                **wanted: Any) -> QuerySet[Comparison]:  # fmt: skip
    """Comparisons with these values in their columns; what is None is not asked for."""
    found = Comparison.objects.filter(cluster_id=cluster_id, **wanted)
    if since is not None:
        found = found.filter(at__gte=since)
    return found if until is None else found.filter(at__lt=until)


def _numbers(found: QuerySet[Comparison], column: str) -> dict[str, int]:
    """How often each value stands in the column, the most frequent first."""
    rows = found.values_list(column).annotate(n=Count("id")).order_by("-n", column)[:MOST_NAMED]
    return {str(value): int(count) for value, count in rows}


def _counts(counts: Counter[str]) -> views.AgreementCounts:
    return views.AgreementCounts(**{str(outcome): counts[outcome] for outcome in Agreement.values})


def _rate(counts: Counter[str]) -> float | None:
    equal = counts[Agreement.AGREED] + counts[Agreement.TIED] + counts[Agreement.EARLIER]
    judged = equal + counts[Agreement.DIFFERED]
    return equal / judged if judged else None
