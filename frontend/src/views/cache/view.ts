/** The scheduler's cache as a page, in the place of the dashboard. */
import { oneOf, view, whole, words } from "../../lib/view";

export const cacheView = view({
  path: "/clusters/:clusterId/cache",
  params: { clusterId: whole },
  settings: {
    rows: oneOf("pods", "nodes"), // which are listed
    find: words(), // a part of their names
  },
  load: () => import("./CachePage.svelte"),
});

export const cacheHref = (clusterId: number): string => cacheView.href({ clusterId });
