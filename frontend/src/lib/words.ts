/** Where a pod stands and what an attempt found, in plain words. */
import type { Attempt } from "../api/types";
import type { PodView, QueueView } from "../contract/events.gen";
import { t } from "../i18n/index.svelte";
import type { State } from "../live/state";
import { span } from "./format";
import { lanesOf } from "./queues";

export function stateText(state: State, pod: PodView, view: QueueView | undefined, now: number): string {
  if (pod.phase === "Succeeded") return t("state.succeeded");
  if (pod.phase === "Failed") return t("state.failed");
  if (pod.deleting) return t("state.deleting");
  if (pod.node)
    return pod.phase === "Running" ? t("state.running", { node: pod.node }) : t("state.bound", { node: pod.node });
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
      return t("state.gated");
    case "waiting":
      return t("state.waiting", { node });
    case "assumed":
      return t("state.assumed", { node });
    default:
      return pod.gated ? t("state.gated") : t("state.unqueued");
  }
}

/** Two or three sentences: what came out, how many nodes took part, the main reason. */
export function attemptText(attempt: Attempt): string {
  const said: string[] = [];
  const { evaluated, feasible } = attempt;
  switch (attempt.result) {
    case "scheduled": {
      const node = attempt.node_name;
      said.push(t("attempt.saysScheduled", { node, evaluated, feasible }));
      const total = attempt.best.find((best) => best.node === node)?.total;
      if (feasible === 1) said.push(t("attempt.saysOnly", { node }));
      else if (total !== undefined && total !== null) said.push(t("attempt.saysBest", { node, total }));
      break;
    }
    case "unschedulable": {
      said.push(t("attempt.saysUnschedulable", { evaluated }));
      const main = attempt.rejections.reduce<(typeof attempt.rejections)[number] | undefined>(
        (most, next) => (most && most.count >= next.count ? most : next),
        undefined,
      );
      if (main) said.push(t("attempt.saysMain", { reason: main.reason, plugin: main.plugin, count: main.count }));
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
