/** The one store. Views read it; the state of the cluster in it is only ever replaced by what live/ made. */
import { type ApiError, api, apiError } from "../api/client";
import { askAt } from "../api/past";
import type { Clock, Cluster, Leadership, Me } from "../contract/api.gen";
import { type Link, LiveSocket } from "../live/socket";
import { fromSnapshot, type State } from "../live/state";
import { type ClusterTime, clocked, framed, stoppedAt, timeThen } from "../live/time";

const ROLES = ["viewer", "operator", "admin"] as const;
const CLUSTERS_EVERY_MS = 5_000;
export type Role = (typeof ROLES)[number];

/** What is asked again when too many read moments at once: so often, and after so long. */
const [TIMES, PAUSE_MS] = [6, 700];
const TOO_MANY = 429;

/** A moment in the past, as it is shown. */
export interface Moment {
  /** How the address said it; the position itself while the past is played, which the address follows by itself. */
  readonly wanted: string;
  /** Of both logs, as the address says it. */
  readonly position: string;
  /** The position that questions are asked of; behind the other while the past is played. */
  readonly asked: string;
  readonly time: number; // ms, of the cluster
}

class Store {
  me = $state.raw<Me | null>(null);
  clusters = $state.raw<readonly Cluster[] | null>(null);
  clustersError = $state.raw<ApiError | null>(null);
  clusterId = $state.raw<number | null>(null);
  state = $state.raw<State | null>(null);
  /** The name of the cluster that was shown until it went. */
  gone = $state.raw<string | null>(null);
  link = $state.raw<Link>({ status: "connecting", error: null });
  /** What was said last of the time in the cluster; null until something was. */
  time = $state.raw<ClusterTime | null>(null);
  /** Since when (this browser's time) what is shown is no longer kept up; null while it is. */
  lostAt = $state.raw<number | null>(null);
  /** Who schedules the cluster, as asked for last. */
  leadership = $state.raw<{ readonly found: Leadership; readonly askedAt: number } | null>(null);

  /** The moment that is shown; null: the present. */
  moment = $state.raw<Moment | null>(null);
  /** The moment on its way, as the address says it; empty: the present; null: none is. */
  going = $state.raw<string | null>(null);
  /** Why the moment in the address cannot be shown. */
  momentProblem = $state.raw<ApiError | null>(null);

  private socket: LiveSocket | null = null;
  private at = ""; // the moment in the address
  private turn = 0; // answers about moments that were asked for before are left alone

  /** Keeps the list of clusters up: what others make, rename or delete shows by itself. */
  watchClusters(): void {
    void this.loadClusters();
    void this.loadMe();
    setInterval(() => {
      if (!document.hidden) void this.loadClusters();
    }, CLUSTERS_EVERY_MS);
  }

  async loadClusters(): Promise<void> {
    const shown = this.state?.cluster ?? null;
    try {
      const found = await api.clusters();
      this.clustersError = null;
      if (JSON.stringify(found) !== JSON.stringify(this.clusters)) this.clusters = found;
      // It was shown before the list was asked for, and is not in it.
      if (shown && shown.id === this.clusterId && !found.some(({ id }) => id === shown.id)) this.leave(shown.name);
    } catch (error) {
      if (this.clusters === null) this.clustersError = apiError(error);
    }
  }

  /** The cluster that is shown is there no more, at least not for this user. */
  private leave(name: string): void {
    this.socket?.stop();
    this.socket = null;
    this.gone = name;
    this.state = null;
    this.forgetMoment();
    this.link = { status: "failed", error: null };
  }

  async loadMe(): Promise<void> {
    this.me = await api.me().catch(() => this.me);
  }

  /** Whether new clusters may be made; while it is unknown the service decides alone. Nothing is while the past is shown. */
  get mayCreate(): boolean {
    return this.moment === null && (this.me?.may_create_clusters ?? true);
  }

  /**
   * Whether the role in the shown cluster includes that one; while it is unknown the service decides alone. In the past
   * there is nothing to be done.
   */
  may(role: Role): boolean {
    if (this.moment !== null) return false;
    if (this.me === null || this.me.is_superuser) return true;
    const own = this.me.roles[String(this.clusterId)];
    return own !== undefined && ROLES.indexOf(own) >= ROLES.indexOf(role);
  }

  /** `at`: the moment that all of the page shows, as an address says it; empty: the present. */
  watch(clusterId: number | null, at = ""): void {
    if (clusterId === this.clusterId && at === this.at) return;
    if (clusterId !== this.clusterId) this.enter(clusterId);
    this.at = at;
    this.turn += 1;
    this.momentProblem = null;
    if (clusterId === null) return;
    if (at === "") this.follow(clusterId);
    else void this.go(clusterId, at);
  }

  private enter(clusterId: number | null): void {
    this.socket?.stop();
    this.socket = null;
    this.clusterId = clusterId;
    this.state = null;
    this.gone = null;
    this.leadership = null;
    this.lostAt = null;
    this.time = null;
    this.link = { status: "connecting", error: null };
    this.forgetMoment();
    if (clusterId !== null) void this.loadMe();
  }

  private forgetMoment(): void {
    this.turn += 1;
    this.moment = null;
    this.going = null;
    this.momentProblem = null;
    askAt(null);
  }

  /** The present; the past is shown until it is there. */
  private follow(clusterId: number): void {
    this.going = this.moment ? "" : null;
    if (this.socket) return;
    this.socket = new LiveSocket(clusterId, {
      open: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, "ws"))),
      snapshot: (id) => api.snapshot(id),
      onState: (state, at) => {
        if (this.moment) {
          if (this.at !== "") return;
          this.forgetMoment();
          this.time = null;
        }
        this.state = state;
        this.time = framed(this.time, at, Date.now(), state.cluster);
      },
      onLink: (link) => {
        this.link = link;
        if (link.status === "live") this.lostAt = null;
        else this.lostAt ??= Date.now();
        if (this.state && (link.error?.status === 404 || link.error?.status === 403)) {
          this.leave(this.state.cluster.name);
          void this.loadClusters();
        }
        this.loginIfNeeded(link.error);
      },
    });
    this.socket.start();
  }

  /** A moment in the past; what was shown stays until it is there, and when it cannot be had. */
  private async go(clusterId: number, at: string): Promise<void> {
    if (at === this.moment?.position) {
      this.socket?.stop();
      this.socket = null;
      this.going = null;
      return;
    }
    const { turn } = this;
    this.going = at;
    for (let times = 1; ; times += 1) {
      try {
        const found = await api.snapshot(clusterId, at);
        if (turn === this.turn) this.showThen(fromSnapshot(found), at, found.throughput.until_ms);
        return;
      } catch (error) {
        const problem = apiError(error);
        if (turn === this.turn && problem.status === TOO_MANY && times < TIMES)
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        if (turn !== this.turn) return;
        if (problem.status === TOO_MANY && times < TIMES) continue;
        this.going = null;
        this.momentProblem = problem;
        if (problem.status === 404 || problem.status === 403) this.link = { status: "failed", error: problem };
        this.loginIfNeeded(problem);
        return;
      }
    }
  }

  private showThen(state: State, wanted: string, time: number): void {
    this.socket?.stop();
    this.socket = null;
    this.lostAt = null;
    this.going = null;
    const position = state.cursor.join(".");
    this.moment = { wanted, position, asked: position, time };
    askAt(position);
    this.state = state;
    this.time = stoppedAt(time);
  }

  /** What the past is while it is played. `asked`: whether questions to the service are of this position from now on. */
  played(state: State, time: number, asked: boolean): void {
    if (!this.moment) return;
    const position = state.cursor.join(".");
    this.moment = { wanted: position, position, time, asked: asked ? position : this.moment.asked };
    if (asked) askAt(position);
    this.state = state;
    this.time = stoppedAt(time);
  }

  /** The address is about to say this moment, which is shown already. */
  isAt(position: string): void {
    this.at = position;
  }

  private loginIfNeeded(error: ApiError | null): void {
    if (error?.needsLogin) location.assign(`/login?next=${encodeURIComponent(`/${location.hash}`)}`);
  }

  async askLeadership(): Promise<void> {
    const id = this.clusterId;
    if (id === null) return;
    const found = await api.leadership(id).catch(() => null); // the link tells when the service is away
    if (found && id === this.clusterId) this.leadership = { found, askedAt: Date.now() };
  }

  /** The clock of a cluster, as the service answered at that time of this computer. */
  clockRead(clusterId: number, clock: Clock, wall: number): void {
    if (clusterId === this.clusterId && !this.moment) this.time = clocked(this.time, clock, wall);
  }

  /**
   * Up to which of the cluster's times (ms) the engine is known to be at work: in real time not while nobody leads the
   * cluster; a clock that goes by steps stands still then.
   */
  knownUntil(now: number): number {
    const time = this.time;
    if (!time) return now;
    const until = this.lostAt === null ? now : Math.min(now, timeThen(time, this.lostAt));
    if (time.isStepped) return Math.min(until, time.known);
    if (!this.leadership || this.leadership.found.is_led) return until;
    const { found, askedAt } = this.leadership;
    return Math.min(until, timeThen(time, askedAt - found.renewed_seconds_ago * 1000));
  }

  retry(): void {
    this.socket?.retry();
  }
}

export const store = new Store();
