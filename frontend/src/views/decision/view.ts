/** One stored attempt as a page, in the place of the dashboard. */
import { flag, place, view, whole, withSettings, words } from "../../lib/view";

/** The last stage of the funnel; no plugin is called so. */
export const FEASIBLE = "-";

export const decisionView = view({
  path: "/clusters/:clusterId/attempts/:seq",
  params: { clusterId: whole, seq: whole },
  settings: {
    stage: words(), // of the funnel, the plugin whose nodes are shown
    stageFrom: place,
    left: words(), // two nodes side by side
    right: words(),
    candidates: place, // from which on they are shown
    other: place, // the attempt it is compared with
    changed: flag, // which nodes changed verdict between the two
    made: flag, // it is made again
    again: words(), // the node that is told of then
    not: words(), // the node that was not chosen; the best of the others
    turn: flag, // what weight would have turned it
  },
  load: () => import("./DecisionPage.svelte"),
});

/** `seq`: position of the attempt in the engine log. */
export const decisionHref = (clusterId: number, seq: number): string => decisionView.href({ clusterId, seq });

/** The same, where it is asked what would have turned the decision. */
export const whyHref = (clusterId: number, seq: number): string =>
  withSettings(decisionView.settings, { turn: true }, decisionHref(clusterId, seq));
