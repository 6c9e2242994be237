"""What the REST views over the traces answer, field by field: the browser's types are made from these."""

from typing import Any

from rest_framework import serializers

from kschedweb.traces.choices import Outcome, Result

CODES_HELP = "Unschedulable, UnschedulableAndUnresolvable, Pending or Error"


def page_of(item: type[serializers.Serializer[Any]], name: str) -> type[serializers.Serializer[Any]]:
    """A page of a list, as KeysetPagination answers it."""
    fields = {
        "results": item(many=True),
        "next": serializers.CharField(allow_null=True, help_text="address of the next page"),
        "previous": serializers.CharField(allow_null=True),
    }
    return type(f"{name}Page", (serializers.Serializer,), fields)


class RejectionOutput(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    reason = serializers.CharField()
    code = serializers.CharField(help_text=CODES_HELP)
    count = serializers.IntegerField(help_text="nodes refused for it")

    class Meta:
        ref_name = "Rejection"


class BestNodeOutput(serializers.Serializer[Any]):
    node = serializers.CharField()
    total = serializers.IntegerField(allow_null=True)
    scores = serializers.DictField(child=serializers.IntegerField(), help_text="weighted, by plugin")

    class Meta:
        ref_name = "BestNode"


class PreemptionOutput(serializers.Serializer[Any]):
    """The search for victims in short; an empty node means that none was found."""

    tried = serializers.IntegerField()
    candidates = serializers.IntegerField()
    tied = serializers.IntegerField()
    node = serializers.CharField(allow_blank=True)
    victims = serializers.ListField(child=serializers.CharField(), help_text="the first of them")
    num_victims = serializers.IntegerField()
    num_pdb_violations = serializers.IntegerField()
    cleared = serializers.ListField(child=serializers.CharField(), help_text="pods that lost their nomination")
    decided_by = serializers.CharField(
        default="", allow_blank=True, help_text="the criterion that left one of several; absent from old attempts"
    )

    class Meta:
        ref_name = "Preemption"


class AttemptOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="position in the engine log")
    rv = serializers.IntegerField(help_text="position in the change log the engine had seen")
    run = serializers.IntegerField()
    step = serializers.IntegerField()
    place = serializers.IntegerField(help_text="in its step")
    config_version = serializers.IntegerField()
    pod_uid = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    attempt = serializers.IntegerField()
    profile = serializers.CharField()
    result = serializers.ChoiceField(Result.choices)
    node_name = serializers.CharField(allow_blank=True)
    nominated_node_name = serializers.CharField(allow_null=True, allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    started_at = serializers.DateTimeField()
    duration_us = serializers.IntegerField()
    durations = serializers.DictField(child=serializers.IntegerField(), help_text="microseconds by phase")
    evaluated = serializers.IntegerField()
    feasible = serializers.IntegerField()
    unschedulable_plugins = serializers.ListField(child=serializers.CharField())
    rejections = RejectionOutput(many=True)
    best = BestNodeOutput(many=True)
    preemption = PreemptionOutput(allow_null=True)
    tied = serializers.IntegerField(
        allow_null=True,
        help_text="nodes with the highest total: one of them is drawn with the cluster's seed, the pod's key and the"
        " attempt's number; null where no totals were compared",
    )
    repeat_count = serializers.IntegerField()
    last_seen_at = serializers.DateTimeField()

    class Meta:
        ref_name = "Attempt"


AttemptPage = page_of(AttemptOutput, "Attempt")


class StatusOutput(serializers.Serializer[Any]):
    code = serializers.CharField(help_text=CODES_HELP)
    plugin = serializers.CharField(allow_blank=True)
    reasons = serializers.ListField(child=serializers.CharField())

    class Meta:
        ref_name = "Status"


class ScoreOutput(serializers.Serializer[Any]):
    raw = serializers.IntegerField(help_text="before NormalizeScore")
    normalized = serializers.IntegerField(help_text="0 to 100")
    weighted = serializers.IntegerField(help_text="normalized times the plugin's weight")

    class Meta:
        ref_name = "Score"


class MatrixNodeOutput(serializers.Serializer[Any]):
    node = serializers.CharField()
    feasible = serializers.BooleanField()
    status = StatusOutput(allow_null=True, help_text="null: no filter refused it")
    total = serializers.IntegerField(allow_null=True)
    tied = serializers.BooleanField(help_text="for the highest total")
    scores = serializers.DictField(child=ScoreOutput(), help_text="by plugin")

    class Meta:
        ref_name = "MatrixNode"


class PreemptionDetailOutput(serializers.Serializer[Any]):
    potential = serializers.IntegerField(help_text="nodes whose refusal evicting pods could lift")
    candidates = serializers.IntegerField(help_text="nodes that would fit it without their victims")
    refused = serializers.IntegerField(help_text="nodes tried in vain")
    tied = serializers.IntegerField(help_text="candidates that all criteria left over; the first tried is taken")
    offset = serializers.IntegerField(help_text="of the first node tried")
    candidates_wanted = serializers.IntegerField(help_text="candidates that end the search")
    criterion = serializers.CharField(allow_blank=True, help_text="what decided among the candidates; empty: unknown")
    node = serializers.CharField(allow_blank=True)
    victims = serializers.ListField(child=serializers.CharField(), help_text="in the order of their eviction")
    cleared = serializers.ListField(child=serializers.CharField(), help_text="pods that lost their nomination")

    class Meta:
        ref_name = "PreemptionDetail"


class PreemptionNodeOutput(serializers.Serializer[Any]):
    node = serializers.CharField()
    outcome = serializers.ChoiceField(Outcome.choices)
    status = StatusOutput(allow_null=True, help_text="of a node tried in vain")
    victims = serializers.ListField(child=serializers.CharField(), help_text="the most important first")
    num_pdb_violations = serializers.IntegerField()
    tied = serializers.BooleanField()

    class Meta:
        ref_name = "PreemptionNode"


class PreemptionSearchOutput(PreemptionDetailOutput):
    nodes = PreemptionNodeOutput(many=True, help_text="one page of them, in the order tried")
    found = serializers.IntegerField(help_text="nodes on all pages")

    class Meta:
        ref_name = "PreemptionSearch"


class PostFilterOutput(serializers.Serializer[Any]):
    code = serializers.CharField(allow_blank=True)
    plugin = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    nominated_node_name = serializers.CharField(allow_null=True, allow_blank=True)

    class Meta:
        ref_name = "PostFilter"


class NominatedTryOutput(serializers.Serializer[Any]):
    node = serializers.CharField()
    fits = serializers.BooleanField()
    status = StatusOutput(allow_null=True)
    error = serializers.CharField(allow_blank=True)

    class Meta:
        ref_name = "NominatedTry"


class ExtenderExchangeOutput(serializers.Serializer[Any]):
    extender = serializers.CharField()
    point = serializers.ChoiceField(["filter", "prioritize", "bind", "preempt"])
    request = serializers.CharField(help_text="digest of what was sent")
    answer = serializers.CharField(allow_null=True, allow_blank=True)
    error = serializers.CharField(allow_blank=True)

    class Meta:
        ref_name = "ExtenderExchange"


class ScorePluginOutput(serializers.Serializer[Any]):
    name = serializers.CharField()
    weight = serializers.IntegerField()

    class Meta:
        ref_name = "ScorePlugin"


class MatrixOutput(serializers.Serializer[Any]):
    nodes_total = serializers.IntegerField(help_text="nodes of the cluster then")
    nodes_wanted = serializers.IntegerField(allow_null=True, help_text="feasible nodes that end the search")
    start_index = serializers.IntegerField(help_text="where the walk over the nodes began: the rotation state")
    end_index = serializers.IntegerField(help_text="where the next walk begins")
    pre_filter = StatusOutput(allow_null=True)
    pre_filter_nodes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    skipped_filters = serializers.ListField(child=serializers.CharField())
    skipped_scores = serializers.ListField(child=serializers.CharField())
    plugins = ScorePluginOutput(many=True)
    nominated = NominatedTryOutput(allow_null=True)
    nodes = MatrixNodeOutput(many=True, help_text="one page of them")
    found = serializers.IntegerField(help_text="nodes on all pages")
    post_filter = PostFilterOutput(allow_null=True)
    extenders = ExtenderExchangeOutput(many=True)

    class Meta:
        ref_name = "Matrix"


class AttemptDetailOutput(AttemptOutput):
    seed = serializers.IntegerField(help_text="of every draw in it")
    digest = serializers.CharField(help_text="over what was found and decided; equal decisions have equal digests")
    matrix = MatrixOutput(allow_null=True)

    class Meta:
        ref_name = "AttemptDetail"


class PreemptionAttemptOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    pod_uid = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    attempt = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    nominated_node_name = serializers.CharField(allow_null=True, allow_blank=True)
    preemption = PreemptionOutput()
    detail = PreemptionDetailOutput(allow_null=True, help_text="null where the matrix was not kept")

    class Meta:
        ref_name = "PreemptionAttempt"


class HistoryEntryOutput(serializers.Serializer[Any]):
    """One thing that happened to a pod."""

    kind = serializers.ChoiceField(["queue", "cache", "attempt", "event", "binding", "eviction"])
    what = serializers.CharField(
        allow_blank=True,
        help_text="queue: where it came to, empty when it left; cache: assumed, waiting, confirmed, forgotten,"
        " finished; attempt: its result; event: its reason; binding and eviction: pending, done, refused, superseded",
    )
    at = serializers.DateTimeField()
    seq = serializers.IntegerField(allow_null=True, help_text="position in the engine log")
    rv = serializers.IntegerField(allow_null=True)
    event = serializers.CharField(allow_blank=True, help_text="what moved it")
    hint = serializers.CharField(allow_blank=True, help_text="the plugin whose hint moved it")
    plugins = serializers.ListField(child=serializers.CharField(), help_text="blamed, or waited for")
    attempts = serializers.IntegerField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True, help_text="end of backoff, or of a wait for Permit")
    node = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True, help_text="why it failed")
    attempt_seq = serializers.IntegerField(allow_null=True, help_text="the stored attempt")

    class Meta:
        ref_name = "HistoryEntry"


class EventOutput(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="position in the engine log, 0 when it is not from the engine")
    type = serializers.CharField()
    reason = serializers.CharField()
    action = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    regarding_kind = serializers.CharField()
    regarding_namespace = serializers.CharField(allow_blank=True)
    regarding_name = serializers.CharField()
    regarding_uid = serializers.CharField(allow_blank=True)
    reporter = serializers.CharField()
    count = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()

    class Meta:
        ref_name = "Event"
