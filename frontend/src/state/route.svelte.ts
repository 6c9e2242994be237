/**
 * The address in words: #/clusters/1, #/clusters/1/nodes/node-3, #/clusters/1/pods/default/web-1, and an attempt at that
 * pod: #/clusters/1/pods/default/web-1/attempts/812.
 */

export interface Route {
  readonly clusterId: number | null;
  readonly pod: string | null; // namespace/name
  readonly attempt: number | null; // seq of an attempt at the pod
  readonly node: string | null;
}

export function parseRoute(hash: string): Route {
  const parts = hash.replace(/^#\/?/, "").split("/").map(decode);
  const id = parts[0] === "clusters" && /^\d+$/.test(parts[1] ?? "") ? Number(parts[1]) : null;
  const kind = id === null ? undefined : parts[2];
  const pod = kind === "pods" && parts[3] && parts[4] ? `${parts[3]}/${parts[4]}` : null;
  return {
    clusterId: id,
    pod,
    attempt: pod && parts[5] === "attempts" && /^\d{1,15}$/.test(parts[6] ?? "") ? Number(parts[6]) : null,
    node: kind === "nodes" && parts[3] ? parts[3] : null,
  };
}

export function hrefOf(clusterId: number, open?: { pod?: string; attempt?: number; node?: string }): string {
  const base = `#/clusters/${clusterId}`;
  if (open?.pod) {
    const pod = `${base}/pods/${open.pod.split("/").map(encodeURIComponent).join("/")}`;
    return open.attempt === undefined ? pod : `${pod}/attempts/${open.attempt}`;
  }
  if (open?.node) return `${base}/nodes/${encodeURIComponent(open.node)}`;
  return base;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

class Router {
  route = $state.raw<Route>(parseRoute(location.hash));

  constructor() {
    addEventListener("hashchange", () => {
      this.route = parseRoute(location.hash);
    });
  }

  open(href: string): void {
    location.hash = href;
  }
}

export const router = new Router();
