/** Ready nodes of one shape for a new cluster, as `./ksched cluster create --nodes` makes them. */
export const MOST_NODES = 1000;
const QUANTITY = /^\d+(\.\d+)?(m|k|[KMGTPE]i?)?$/;

export function isQuantity(text: string): boolean {
  return QUANTITY.test(text);
}

export function nodesOf(count: number, shape: { readonly cpu: string; readonly memory: string }): readonly object[] {
  const capacity = { "ephemeral-storage": "200Gi", pods: "110", ...shape };
  return Array.from({ length: count }, (_, index) => {
    const name = `node-${index + 1}`;
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      status: {
        capacity,
        allocatable: capacity,
        conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
        addresses: [{ type: "Hostname", address: name }],
      },
    };
  });
}
