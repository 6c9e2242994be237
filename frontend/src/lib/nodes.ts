/** What is used of a node: pods added up, against what it can give. */
import type { NodeView } from "../contract/api.gen";
import { EMPTY_USAGE, type State, type Usage } from "../live/state";

export interface Share {
  readonly resource: string;
  readonly used: number;
  readonly capacity: number;
  readonly share: number; // 0..1, above 1 when too much is asked for
}

/** Every resource the node has, cpu, memory and pods first, then the others by name. */
export function sharesOf(node: NodeView, usage: Usage): readonly Share[] {
  const shares = [
    share("cpu", usage.resources.cpu ?? 0, node.cpu_milli),
    share("memory", usage.resources.memory ?? 0, node.memory_bytes),
    share("pods", usage.uids.size, node.pods),
  ];
  for (const resource of Object.keys(node.extended).sort()) {
    shares.push(share(resource, usage.resources[resource] ?? 0, node.extended[resource] ?? 0));
  }
  return shares;
}

/** The resource that is closest to its end; the number of pods counts only when it is the tightest of all. */
export function dominantOf(node: NodeView, usage: Usage): Share {
  return sharesOf(node, usage).reduce((most, next) => (next.share > most.share ? next : most));
}

export function usageOf(state: State, node: string): Usage {
  return state.usage.get(node) ?? EMPTY_USAGE;
}

export function isTainted(node: NodeView): boolean {
  // Cordoning sets a taint of its own, which is shown as cordoned.
  return node.taints.some((taint) => !taint.startsWith("node.kubernetes.io/unschedulable"));
}

function share(resource: string, used: number, capacity: number): Share {
  return { resource, used, capacity, share: capacity > 0 ? used / capacity : used > 0 ? 2 : 0 };
}
