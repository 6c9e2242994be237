/** How a node is: what its manifest says of conditions, kubelet and drain. */

export type KubeletState = "running" | "stopped" | "partitioned" | "off";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number | null;
  /** Whether this is how it should be; null: nobody knows. */
  readonly isGood: boolean | null;
}

export interface NodeHealth {
  readonly conditions: readonly Condition[];
  readonly kubelet: KubeletState;
  readonly sinceMs: number | null; // since when the kubelet is not running
  readonly untilMs: number | null; // when it comes back by itself
  readonly drain: "" | "requested" | "draining" | "drained";
  readonly drainLeft: string; // what the drain has left to do, in the service's words
}

interface NodeManifest {
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string | null;
    }[];
  };
}

const KUBELET = "kschedweb.io/kubelet";
const DRAIN = "kschedweb.io/drain";
const STATES = ["stopped", "partitioned", "off"] as const;
const DRAINS = ["requested", "draining", "drained"] as const;

export function healthOf(manifest: unknown): NodeHealth {
  const { metadata, status } = manifest as NodeManifest;
  const told = metadata?.annotations ?? {};
  const kubelet = STATES.find((state) => state === told[KUBELET]) ?? "running";
  return {
    conditions: (status?.conditions ?? []).map(({ type, status, reason = "", message = "", lastTransitionTime }) => ({
      type,
      status,
      reason,
      message,
      sinceMs: time(lastTransitionTime),
      isGood: status === "Unknown" ? null : (status === "True") === (type === "Ready"),
    })),
    kubelet,
    sinceMs: kubelet === "running" ? null : time(told[`${KUBELET}-since`]),
    untilMs: kubelet === "running" ? null : time(told[`${KUBELET}-until`]),
    drain: DRAINS.find((state) => state === told[DRAIN]) ?? "",
    drainLeft: told[`${DRAIN}-left`] ?? "",
  };
}

/** Of whom a manifest is. */
export function nameOf(manifest: unknown): string {
  return (manifest as NodeManifest).metadata?.name ?? "";
}

function time(text: string | null | undefined): number | null {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? null : ms;
}
