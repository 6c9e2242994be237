"""Inputs: how they are validated, and the query parameters of questions over the traces."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from kschedweb.traces.choices import Outcome, Result
from kschedweb.traces.selectors import AttemptFilter, EventFilter, MatrixQuery, PreemptionQuery

YEARS = 10 * 366 * 24 * 3600
FIVE_MINUTES = timedelta(minutes=5)
MOST_POINTS = 24 * 3600


class VerbatimField(serializers.CharField):
    """Text that is looked for as it was given: no blanks are cut off before it is measured."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)


class SpanInput(serializers.Serializer[Any]):
    since = serializers.DateTimeField(required=False, help_text="seen at this time or later")
    until = serializers.DateTimeField(required=False, help_text="before this time")
    last_seconds = serializers.IntegerField(
        required=False, min_value=1, max_value=YEARS, help_text="instead of since: so many seconds ago"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        seconds = attrs.pop("last_seconds", None)
        if seconds is not None:
            if "since" in attrs:
                raise serializers.ValidationError("either since or last_seconds")
            attrs["since"] = timezone.now() - timedelta(seconds=seconds)
        return attrs


class RefusalInput(SpanInput):
    plugin = VerbatimField(required=False, max_length=128, help_text="that refused nodes")
    reason = VerbatimField(required=False, max_length=1000, help_text="for which it refused nodes, in full")
    namespace = VerbatimField(required=False, max_length=63)
    profile = VerbatimField(required=False, max_length=253)
    result = serializers.ChoiceField(Result.choices, required=False)


class AttemptInput(RefusalInput):
    name = VerbatimField(required=False, max_length=253, help_text="of the pod")
    node = VerbatimField(required=False, max_length=253, help_text="that was chosen")
    min_duration_us = serializers.IntegerField(required=False, min_value=0, max_value=2**62)


class NodeRefusalInput(RefusalInput):
    node = VerbatimField(max_length=253)
    limit = serializers.IntegerField(default=100, min_value=1, max_value=1000)
    before = serializers.IntegerField(
        default=None, allow_null=True, min_value=0, max_value=2**62, help_text="go on from an unfinished answer"
    )


class SlowestInput(AttemptInput):
    limit = serializers.IntegerField(default=20, min_value=1, max_value=200)


class PendingInput(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500)


class PendingPodInput(serializers.Serializer[Any]):
    plugin = VerbatimField(default="", max_length=128)
    reason = VerbatimField(default="", max_length=1000)
    limit = serializers.IntegerField(default=100, min_value=1, max_value=1000)


class ThroughputInput(SpanInput):
    """By default the last five minutes; by seconds where that is an hour at most, else by minutes."""

    seconds = serializers.ChoiceField([1, 60], required=False, help_text="that a point tells of")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        attrs.setdefault("until", timezone.now())
        attrs.setdefault("since", attrs["until"] - FIVE_MINUTES)
        span = (attrs["until"] - attrs["since"]).total_seconds()
        if span <= 0:
            raise serializers.ValidationError({"since": "must be before until"})
        attrs.setdefault("seconds", 1 if span <= 3600 else 60)
        if span / attrs["seconds"] > MOST_POINTS:
            longest = MOST_POINTS * attrs["seconds"] // 3600
            raise serializers.ValidationError({"seconds": f"spans of {attrs['seconds']} s: at most {longest} hours"})
        return attrs


class EventInput(SpanInput):
    namespace = VerbatimField(required=False, max_length=63, help_text="of what it is about")
    name = VerbatimField(required=False, max_length=253)
    kind = VerbatimField(required=False, max_length=63)
    reason = VerbatimField(required=False, max_length=128)
    type = serializers.ChoiceField(["Normal", "Warning"], required=False)


class HistoryInput(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=500, min_value=1, max_value=5000, help_text="the newest so many entries")


class MatrixInput(serializers.Serializer[Any]):
    node = VerbatimField(required=False, max_length=253, help_text="part of a node's name")
    plugin = VerbatimField(required=False, max_length=128, help_text="that refused the node")
    reason = VerbatimField(required=False, max_length=1000, help_text="for which, in full")
    feasible = serializers.BooleanField(required=False, allow_null=True, default=None)
    tied = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="for the highest total, the chosen node among them"
    )
    sort = serializers.RegexField(
        r"^(walk|node|total|(raw|normalized|weighted):[^\x00]{1,128})$",
        default="walk",
        help_text="walk, node, total, or raw:, normalized:, weighted: with a plugin's name",
    )
    descending = serializers.BooleanField(default=False)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10**6)
    limit = serializers.IntegerField(default=200, min_value=1, max_value=10_000)


class PreemptionInput(serializers.Serializer[Any]):
    node = VerbatimField(required=False, max_length=253, help_text="part of a node's name")
    outcome = serializers.ChoiceField(
        Outcome.choices, required=False, help_text="candidate: fits without its victims; untried: enough had been found"
    )
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10**6)
    limit = serializers.IntegerField(default=200, min_value=1, max_value=10_000)


def given(serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validate what was sent."""
    read = serializer(data=data)
    read.is_valid(raise_exception=True)
    return dict(read.validated_data)


def query(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """Validate the query parameters. As a plain mapping: of a form's, empty values would pass as left out."""
    return given(serializer, request.query_params.dict())


def attempt_filter(values: dict[str, Any]) -> AttemptFilter:
    """Build the filter from those of the values that are its fields."""
    return AttemptFilter(**{key: value for key, value in values.items() if key in AttemptFilter.__dataclass_fields__})


def event_filter(request: Request) -> EventFilter:
    return EventFilter(**query(EventInput, request))


def matrix_query(request: Request) -> MatrixQuery:
    return MatrixQuery(**query(MatrixInput, request))


def preemption_query(request: Request) -> PreemptionQuery:
    return PreemptionQuery(**query(PreemptionInput, request))
