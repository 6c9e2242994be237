/**
 * Plays the past: frames of the engine's steps are applied one after the other, each when its time has come at the speed
 * that is chosen. Where one cannot be applied (a new engine tells anew where every pod stands) the snapshot of its end is
 * shown instead. A cluster that did more in a second than this page can show is played as fast as it can be.
 */
import type { Cursor, Frame } from "../contract/api.gen";
import { applyFrame } from "../live/apply";
import type { State } from "../live/state";

export const SPEEDS = [1, 10, 100] as const;
export type Speed = (typeof SPEEDS)[number];

const TICK_MS = 100;
const BUDGET_MS = 50; // of a tick, for applying frames
const STEPS = 50; // asked for at a time
const FEW = 25; // frames left, at which more are asked for

export interface PlayerPorts {
  readonly frames: (after: Cursor, steps: number) => Promise<readonly Frame[]>;
  readonly snapshot: (at: Cursor) => Promise<State>;
  readonly show: (state: State, time: number) => void;
  /** It has come to the end of what is known, or `error` keeps it from going on. */
  readonly onEnd: (error: unknown) => void;
}

export class Player {
  private readonly waiting: Frame[] = [];
  private readonly timer: ReturnType<typeof setInterval>;
  private asking = false;
  private isEnd = false;
  private stopped = false;
  private last = performance.now();

  constructor(
    private state: State,
    private time: number,
    public speed: Speed,
    private readonly ports: PlayerPorts,
  ) {
    this.timer = setInterval(() => this.tick(), TICK_MS);
    void this.ask();
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
  }

  /** Time goes on while frames are there: it does not run ahead of what is still to come. */
  private tick(): void {
    const now = performance.now();
    const passed = now - this.last;
    this.last = now;
    if (this.asking && !this.waiting.length) return;
    let time = this.time + passed * this.speed;
    let shown: State | null = null;
    while (this.waiting[0] && this.waiting[0].at <= time) {
      const frame = this.waiting[0];
      const applied = applyFrame(this.state, frame);
      if (applied.kind === "gap") {
        if (!this.asking) void this.jump(frame);
        return;
      }
      this.waiting.shift();
      if (applied.kind === "applied") shown = this.state = applied.state;
      if (performance.now() - now > BUDGET_MS) {
        time = Math.min(time, frame.at);
        break;
      }
    }
    this.time = time;
    this.ports.show(shown ?? this.state, time);
    if (!this.waiting.length && this.isEnd) this.end(null);
    else if (this.waiting.length < FEW && !this.isEnd) void this.ask();
  }

  private async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      const after = this.waiting.at(-1)?.to ?? this.state.cursor;
      const found = await this.ports.frames(after, STEPS);
      this.waiting.push(...found);
      this.isEnd = found.length === 0;
    } catch (error) {
      this.end(error);
    } finally {
      this.asking = false;
    }
  }

  private async jump(frame: Frame): Promise<void> {
    this.asking = true;
    const waiting = this.waiting.splice(0);
    try {
      this.state = await this.ports.snapshot(frame.to);
      this.waiting.push(...waiting.slice(1));
      this.time = Math.max(this.time, frame.at);
      if (!this.stopped) this.ports.show(this.state, this.time);
    } catch (error) {
      this.end(error);
    } finally {
      this.asking = false;
    }
  }

  private end(error: unknown): void {
    if (this.stopped) return;
    this.stop();
    this.ports.onEnd(error);
  }
}
