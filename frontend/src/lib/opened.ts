/** Which cluster opens where the address names none: of those that are there the one shown last, else the sample. */

const KEPT = 20;

interface Cluster {
  readonly id: number;
  readonly is_sample: boolean;
}

/** `shown`: ids as `withShown` wrote them. Null when there is no cluster. */
export function toOpen(clusters: readonly Cluster[], shown: string): number | null {
  const there = new Set(clusters.map(({ id }) => String(id)));
  const last = shown.split(" ").find((id) => there.has(id));
  if (last) return Number(last);
  return (clusters.find((cluster) => cluster.is_sample) ?? clusters[0])?.id ?? null;
}

/** The ids of the clusters shown last, the latest first. */
export function withShown(shown: string, id: number): string {
  const others = shown.split(" ").filter((each) => each && each !== String(id));
  return [String(id), ...others].slice(0, KEPT).join(" ");
}
