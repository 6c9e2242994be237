/** Where a pod stands and what an attempt found, in plain words. */
import type { Attempt, Cluster, NominatedBy, PodView, QueueView } from "../contract/api.gen";
import { i18n, t } from "../i18n/index.svelte";
import type { State } from "../live/state";
import { span } from "./format";
import { hasNoProfile, isPreempting, lanesOf } from "./queues";

export function stateText(state: State, pod: PodView, view: QueueView | undefined, now: number): string {
  if (pod.phase === "Succeeded") return t("state.succeeded");
  if (pod.phase === "Failed") return t("state.failed");
  if (pod.deleting) return t("state.deleting");
  if (pod.node) {
    if (pod.phase === "Running") return t("state.running", { node: pod.node });
    // In a frozen cluster no kubelet starts it.
    return t(state.cluster.lifecycle_mode === "frozen" ? "state.bound" : "state.starting", { node: pod.node });
  }
  const node = view?.node || state.assumed.get(pod.uid) || "…";
  switch (view?.queue) {
    case "active": {
      const lane = lanesOf(state).active;
      const place = lane.findIndex((waiting) => waiting.view.uid === pod.uid) + 1;
      return place ? t("state.activePlace", { place, count: lane.length }) : t("state.active");
    }
    case "backoff":
    case "errorBackoff": {
      const left = (view.backoff_until_ms ?? 0) - now;
      if (left <= 500) return t("state.backoffNow");
      return t(view.queue === "backoff" ? "state.backoff" : "state.errorBackoff", { span: span(left) });
    }
    case "unschedulable":
      return t("state.unschedulable");
    case "gated":
      if (isPreempting(view, pod)) return t("state.preempting");
      return pod.gated ? t("state.gated") : t("state.gatedBy", { plugins: view.plugins.join(", ") || "PreEnqueue" });
    case "waiting":
      return t("state.waiting", { node });
    case "assumed":
      return t("state.assumed", { node });
    default:
      if (hasNoProfile(state.cluster, pod)) return noProfileText(pod.scheduler, state.cluster.profiles);
      return pod.gated ? t("state.gated") : t("state.unqueued");
  }
}

/** Why the scheduler leaves pods to others. */
export function noProfileText(name: string, profiles: readonly string[]): string {
  return t("state.noProfile", { name, profiles: profiles.join(", ") });
}

/** Why no attempt at a pod is shown: one that came with a node, an imported one say, was never waiting to be tried. */
export function untriedText(pod: PodView, cluster: Cluster): string {
  if (!pod.node && hasNoProfile(cluster, pod)) return t("attempt.noneNoProfile");
  if (cluster.is_mirror) return t(pod.gated ? "attempt.noneGated" : "mirror.notTried");
  if (pod.node) return t("attempt.nonePlaced", { node: pod.node });
  return t(pod.gated ? "attempt.noneGated" : "attempt.none");
}

/** Which attempt made the room that this one found; stands for `decisionOf`, as a link to that attempt. */
export function nominatedByText({ attempt: number, num_victims: count }: NominatedBy): string {
  return count ? t("attempt.saysNominatedBy", { number, count }) : t("attempt.saysNominatedByOnly", { number });
}

/** Of equal attempts in a row: which one was the first, and when. */
export const sinceText = ({ attempt, started_at }: Attempt): string =>
  t("attempt.since", { number: attempt, time: i18n.moment(Date.parse(started_at)) });

/** What came out and how many nodes took part; what decided it says `decisionOf`. */
export function attemptText(attempt: Attempt): string {
  const said: string[] = [];
  const { evaluated, feasible } = attempt;
  switch (attempt.result) {
    case "scheduled": {
      const node = attempt.node_name;
      said.push(t("attempt.saysScheduled", { node, evaluated, feasible }));
      break;
    }
    case "proposed": {
      const node = attempt.node_name;
      said.push(t("attempt.saysProposed", { node, evaluated, feasible }));
      break;
    }
    case "unschedulable": {
      if (evaluated) said.push(t("attempt.saysUnschedulable", { evaluated }));
      if (attempt.nominated_node_name) said.push(t("attempt.saysNominated", { node: attempt.nominated_node_name }));
      break;
    }
    case "error":
      said.push(t("attempt.saysError"));
      break;
    case "skipped":
      said.push(t("attempt.saysSkipped"));
      break;
    case "noProfile":
      said.push(t("attempt.saysNoProfile"));
      break;
    default:
      attempt.result satisfies never;
  }
  return said.join(" ");
}
