/** The scheduler configuration of a cluster: the one in force, or one it had. */
import { oneOf, optional, view, whole } from "../../lib/view";

export const configView = view({
  path: "/clusters/:clusterId/config[/versions/:version]",
  params: { clusterId: whole, version: optional(whole) },
  settings: { tab: oneOf("text", "effective", "versions") },
  load: () => import("./ConfigDialog.svelte"),
});

export const configHref = (clusterId: number, version: number | null = null): string =>
  configView.href({ clusterId, version });
