/**
 * Keeps one cluster's state live: socket first, then the snapshot, then every frame beyond its cursor. A lost socket
 * comes back by itself with the cursor; a gap, or a cursor the service no longer knows, costs a new snapshot. The
 * service says something at least every five seconds: after SILENCE_MS without a word the socket counts as lost.
 */
import { ApiError } from "../api/client";
import type { Frame, Message, Snapshot } from "../contract/api.gen";
import { applyFrame } from "./apply";
import { fromSnapshot, type State } from "./state";

export type LinkStatus = "connecting" | "live" | "stale" | "failed";

export interface Link {
  readonly status: LinkStatus;
  readonly error: ApiError | null;
}

export interface Ports {
  readonly open: (url: string) => WebSocket;
  readonly snapshot: (clusterId: number) => Promise<Snapshot>;
  /** `at`: the time in the cluster then, in ms. */
  readonly onState: (state: State, at: number) => void;
  readonly onLink: (link: Link) => void;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8_000;
export const SILENCE_MS = 15_000;
// Codes the service closes with (kschedweb/live/consumers.py).
const [UNAUTHENTICATED, UNKNOWN_CLUSTER, TOO_SLOW] = [4401, 4404, 4408];
const SILENT = 1006; // as a browser calls a connection that was cut

export class LiveSocket {
  private state: State | null = null;
  private socket: WebSocket | null = null;
  private waiting: Frame[] | null = null; // frames that came while a snapshot is on its way
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private heardAt = 0;
  private stopped = false;

  constructor(
    private readonly clusterId: number,
    private readonly ports: Ports,
  ) {}

  start(): void {
    this.ports.onLink({ status: "connecting", error: null });
    this.connect();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    this.socket?.close();
  }

  /** Try again now rather than when the waiting time is over. */
  retry(): void {
    clearTimeout(this.timer);
    if (this.socket === null && !this.stopped) this.connect();
  }

  private connect(): void {
    const query = this.state ? `?rv=${this.state.cursor[0]}&seq=${this.state.cursor[1]}` : "";
    const socket = this.ports.open(`/ws/clusters/${this.clusterId}/${query}`);
    this.socket = socket;
    this.waiting = null;
    this.heardAt = Date.now();
    this.watch(socket);
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      if (this.socket !== socket) return;
      this.heardAt = Date.now();
      this.receive(JSON.parse(event.data) as Message);
    });
    socket.addEventListener("close", (event) => {
      if (this.socket === socket) this.lost(event.code);
    });
  }

  /** Look when the silence would be too long; after the sleep of a laptop that is at once. */
  private watch(socket: WebSocket): void {
    clearTimeout(this.watchdog);
    const left = this.heardAt + SILENCE_MS - Date.now();
    this.watchdog = setTimeout(() => {
      if (this.socket !== socket) return;
      if (Date.now() - this.heardAt < SILENCE_MS) {
        this.watch(socket);
        return;
      }
      socket.close(); // its own `close` event may take minutes
      this.lost(SILENT);
    }, left);
  }

  private receive(message: Message): void {
    switch (message.type) {
      case "hello":
        this.failures = 0;
        if (this.state && this.state.cursor[0] === message.cursor[0] && this.state.cursor[1] === message.cursor[1]) {
          this.ports.onLink({ status: "live", error: null });
        } else {
          void this.fetchSnapshot();
        }
        return;
      case "frame":
        if (this.waiting) this.waiting.push(message);
        else this.apply(message);
        return;
      case "heartbeat":
        return;
      default:
        message satisfies never;
    }
  }

  private apply(frame: Frame): void {
    if (!this.state) return;
    const applied = applyFrame(this.state, frame);
    if (applied.kind === "gap") void this.fetchSnapshot();
    else if (applied.kind === "applied") this.show(applied.state, frame.at);
  }

  private async fetchSnapshot(): Promise<void> {
    if (this.waiting) return;
    const socket = this.socket;
    this.waiting = [];
    try {
      const snapshot = await this.ports.snapshot(this.clusterId);
      if (this.stopped || this.socket !== socket) return;
      this.show(fromSnapshot(snapshot), snapshot.throughput.until_ms);
      this.ports.onLink({ status: "live", error: null });
      const frames: readonly Frame[] = this.waiting ?? [];
      this.waiting = null;
      for (const frame of frames) this.apply(frame);
    } catch (error) {
      if (this.stopped || this.socket !== socket) return;
      this.socket = null;
      socket?.close();
      this.again(error);
    }
  }

  private lost(code: number): void {
    this.socket = null;
    if (this.stopped) return;
    if (code === TOO_SLOW) this.failures = 0;
    if (this.failures < 1 && code !== UNAUTHENTICATED && code !== UNKNOWN_CLUSTER) {
      this.ports.onLink({ status: this.state ? "stale" : "connecting", error: null });
      this.later();
      return;
    }
    // A refused socket says little about why; the REST call does.
    this.ports.snapshot(this.clusterId).then(
      () => this.again(null),
      (error: unknown) => this.again(error),
    );
  }

  private again(error: unknown): void {
    if (this.stopped) return;
    const known = error instanceof ApiError ? error : null;
    const final = known !== null && known.status >= 400 && known.status < 500;
    this.ports.onLink({ status: final ? "failed" : this.state ? "stale" : "connecting", error: known });
    if (!final) this.later();
  }

  private later(): void {
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures);
    this.failures += 1;
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private show(state: State, at: number): void {
    this.state = state;
    this.ports.onState(state, at);
  }
}
