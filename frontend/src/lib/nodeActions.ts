/** What can be done to a node. */
import type { Cluster, NodeChange, NodeView } from "../contract/api.gen";
import type { NodeHealth } from "./nodeHealth";

type Harmful = "drain" | "stop" | "partition" | "off" | "reboot" | "delete";
type Harmless = "cordon" | "uncordon" | "undrain" | "back";

/** `change` null: the node is deleted. A harmful one is confirmed, with what will follow. */
export type Action =
  | { readonly name: Harmful; readonly isHarmful: true; readonly change: NodeChange | null }
  | { readonly name: Harmless; readonly isHarmful: false; readonly change: NodeChange };

const REBOOT_SECONDS = 30;

/** In a frozen cluster nothing happens to nodes, and those of kubelets elsewhere are not ours. */
export function actionsOf(cluster: Cluster, node: NodeView, health: NodeHealth | null): readonly Action[] {
  const actions: Action[] = [
    node.unschedulable
      ? { name: "uncordon", isHarmful: false, change: { unschedulable: false } }
      : { name: "cordon", isHarmful: false, change: { unschedulable: true } },
  ];
  if (cluster.lifecycle_mode === "simulate" && health) {
    if (health.drain === "requested" || health.drain === "draining")
      actions.push({ name: "undrain", isHarmful: false, change: { drain: false } });
    else actions.push({ name: "drain", isHarmful: true, change: { drain: true } });
    if (health.kubelet === "running")
      actions.push(
        { name: "stop", isHarmful: true, change: { kubelet: "stopped" } },
        { name: "partition", isHarmful: true, change: { kubelet: "partitioned" } },
        { name: "off", isHarmful: true, change: { kubelet: "off" } },
        { name: "reboot", isHarmful: true, change: { kubelet: "off", kubelet_seconds: REBOOT_SECONDS } },
      );
    else actions.push({ name: "back", isHarmful: false, change: { kubelet: "running" } });
  }
  actions.push({ name: "delete", isHarmful: true, change: null });
  return actions;
}
