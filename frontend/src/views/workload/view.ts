/** A workload: a Deployment, a Job, … */
import { flag, objectKey, text, view, whole } from "../../lib/view";

export const workloadView = view({
  path: "/clusters/:clusterId/workloads/:kind/:key",
  params: { clusterId: whole, kind: text, key: objectKey },
  settings: { manifest: flag },
  load: () => import("./WorkloadPanel.svelte"),
});

export const workloadHref = (clusterId: number, kind: string, key: string): string =>
  workloadView.href({ clusterId, kind, key });
