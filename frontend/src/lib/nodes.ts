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

const PRESSURES = ["memory-pressure", "disk-pressure", "pid-pressure"];
// Taints that follow from what is shown as a state of its own.
const TOLD = ["unschedulable", "not-ready", "unreachable", ...PRESSURES];

export function isTainted(node: NodeView): boolean {
  return node.taints.some((taint) => !TOLD.includes(wellKnown(taint)));
}

/** Nothing is heard of its kubelet. */
export function isUnreachable(node: NodeView): boolean {
  return !node.ready && node.taints.some((taint) => wellKnown(taint) === "unreachable");
}

/** Its pods are being evicted, or will be at once. */
export function isDraining(node: NodeView): boolean {
  return node.drain === "requested" || node.drain === "draining";
}

/** It is short of memory, disk or process ids. */
export function hasPressure(node: NodeView): boolean {
  return node.taints.some((taint) => PRESSURES.includes(wellKnown(taint)));
}

export type NodeSign = "unreachable" | "notReady" | "pressure" | "draining" | "drained" | "cordoned" | "tainted";

/** What is to be said of a node, the worst first; nothing of one that is ready and takes pods. */
export function signsOf(node: NodeView): readonly NodeSign[] {
  const signs: NodeSign[] = [];
  if (!node.ready) signs.push(isUnreachable(node) ? "unreachable" : "notReady");
  if (hasPressure(node)) signs.push("pressure");
  if (isDraining(node)) signs.push("draining");
  if (node.drain === "drained") signs.push("drained");
  if (node.unschedulable) signs.push("cordoned");
  if (isTainted(node)) signs.push("tainted");
  return signs;
}

export const SIGN_TONES: Readonly<Record<NodeSign, "bad" | "warn" | "">> = {
  unreachable: "bad",
  notReady: "bad",
  pressure: "warn",
  draining: "warn",
  drained: "warn",
  cordoned: "warn",
  tainted: "",
};

/** The name of a taint of Kubernetes' own, of `key=value:Effect`; "" of others. */
function wellKnown(taint: string): string {
  const key = taint.split(/[=:]/, 1)[0] ?? "";
  return key.startsWith("node.kubernetes.io/") ? key.slice("node.kubernetes.io/".length) : "";
}

function share(resource: string, used: number, capacity: number): Share {
  return { resource, used, capacity, share: capacity > 0 ? used / capacity : used > 0 ? 2 : 0 };
}
