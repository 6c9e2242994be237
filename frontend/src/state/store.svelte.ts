/** The one store. Views read it; the state of the cluster in it is only ever replaced by what live/ made. */
import { type ApiError, api } from "../api/client";
import type { ClusterSummary, Me } from "../api/types";
import { type Link, LiveSocket } from "../live/socket";
import type { State } from "../live/state";

const ROLES = ["viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

class Store {
  me = $state.raw<Me | null>(null);
  clusters = $state.raw<readonly ClusterSummary[] | null>(null);
  clustersError = $state.raw<ApiError | null>(null);
  clusterId = $state.raw<number | null>(null);
  state = $state.raw<State | null>(null);
  link = $state.raw<Link>({ status: "connecting", error: null });
  /** Milliseconds the service's clock is ahead of this one. */
  skew = $state.raw(0);

  private socket: LiveSocket | null = null;

  async loadClusters(): Promise<void> {
    try {
      this.clusters = await api.clusters();
      this.clustersError = null;
    } catch (error) {
      this.clustersError = error as ApiError;
    }
  }

  async loadMe(): Promise<void> {
    this.me = await api.me().catch(() => this.me);
  }

  /** Whether the role in the shown cluster includes that one; while it is unknown the service decides alone. */
  may(role: Role): boolean {
    if (this.me === null || this.me.is_superuser) return true;
    const own = this.me.roles[String(this.clusterId)];
    return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(role);
  }

  watch(clusterId: number | null): void {
    if (clusterId === this.clusterId) return;
    this.socket?.stop();
    this.socket = null;
    this.clusterId = clusterId;
    this.state = null;
    this.link = { status: "connecting", error: null };
    if (clusterId === null) return;
    void this.loadMe();
    this.socket = new LiveSocket(clusterId, {
      open: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, "ws"))),
      snapshot: (id) => api.snapshot(id),
      onState: (state, at) => {
        this.state = state;
        if (at) this.skew = at - Date.now();
      },
      onLink: (link) => {
        this.link = link;
        if (link.error?.needsLogin) location.assign(`/login?next=${encodeURIComponent(`/${location.hash}`)}`);
      },
    });
    this.socket.start();
  }

  retry(): void {
    this.socket?.retry();
  }
}

export const store = new Store();
