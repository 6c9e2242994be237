/** One stored attempt as a page, in the place of the dashboard. */
import { view, whole } from "../../lib/view";

export const decisionView = view({
  path: "/clusters/:clusterId/attempts/:seq",
  params: { clusterId: whole, seq: whole },
  load: () => import("./DecisionPage.svelte"),
});

/** `seq`: position of the attempt in the engine log. */
export const decisionHref = (clusterId: number, seq: number): string => decisionView.href({ clusterId, seq });
