/** A pod as REST tells of it, for those that a snapshot leaves out: they ended long ago. */
import type { PodDetail, PodView } from "../contract/api.gen";

interface PodManifest {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly priority?: number;
    readonly schedulerName?: string;
    readonly schedulingGates?: readonly unknown[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly nominatedNodeName?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[];
  };
}

export function podViewOf({ manifest, requests }: PodDetail): PodView {
  const { metadata, spec, status = {} } = manifest as PodManifest;
  return {
    uid: metadata.uid,
    key: `${metadata.namespace}/${metadata.name}`,
    node: spec.nodeName ?? "",
    phase: status.phase ?? "Pending",
    priority: spec.priority ?? 0,
    requests,
    deleting: metadata.deletionTimestamp !== undefined,
    gated: Boolean(spec.schedulingGates?.length),
    nominated: status.nominatedNodeName ?? "",
    reason: status.conditions?.find((one) => one.type === "PodScheduled")?.reason ?? "",
    created_ms: Date.parse(metadata.creationTimestamp ?? "") || 0,
    scheduler: spec.schedulerName ?? "default-scheduler",
  };
}
