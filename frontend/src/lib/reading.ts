/** What of a cluster is read and never changed here. */
import type { Cluster } from "../contract/api.gen";

/** Whether its objects come from elsewhere: from the cluster that it mirrors, or from a file of its history. */
export function isOnlyRead(cluster: Pick<Cluster, "is_mirror" | "is_record">): boolean {
  return cluster.is_mirror || cluster.is_record;
}
